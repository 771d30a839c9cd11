/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program that retires exactly 20,000,004 instructions: 200,000 times a
 * body of 100, and four around it. In FUNCTIONS mode (built with -DHOT) three
 * quarters of its time are in function hot and a quarter in function warm.
 */
        .globl  _start, body, hot, warm
        .type   body, @function
        .type   hot, @function
        .type   warm, @function
        .text
#ifndef HOT
_start: mov     $200000, %ecx
body:   .rept   98
        nop
        .endr
        dec     %ecx
        jnz     body
        .size   body, . - body
#else
_start: mov     $100000, %ebx
1:      call    hot
        call    warm
        dec     %ebx
        jnz     1b
#endif
        mov     $60, %eax
        xor     %edi, %edi
        syscall

#ifdef HOT
hot:    mov     $30, %ecx
2:      .rept   8
        nop
        .endr
        dec     %ecx
        jnz     2b
        ret
        .size   hot, . - hot

warm:   mov     $10, %ecx
3:      .rept   8
        nop
        .endr
        dec     %ecx
        jnz     3b
        ret
        .size   warm, . - warm
#endif
        .section .note.GNU-stack, "", @progbits
