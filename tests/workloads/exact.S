/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exact: the only program of a guest. It retires exactly EXACT instructions in
 * user mode and then waits for ever: a long loop, system calls in between, and
 * at the end words on the console. The file's symbol exact_instructions has
 * the number.
 */
#define LOOPS 40000000
#define CALLS 10000
#define INNER 1000

#define NR_write   1
#define NR_pause   34
#define NR_getppid 110

        .globl _start, exact_instructions

        .text
_start:
        mov     $LOOPS, %ecx            /* 1 */
1:      dec     %ecx                    /* 2 each */
        jnz     1b

        mov     $CALLS, %ebx            /* 1 */
2:      mov     $INNER, %ecx            /* 1 + 2 * INNER + 4 each */
3:      dec     %ecx
        jnz     3b
        mov     $NR_getppid, %eax
        syscall
        dec     %ebx
        jnz     2b

        mov     $NR_write, %eax         /* 5 */
        mov     $1, %edi
        lea     text(%rip), %rsi
        mov     $text_end - text, %edx
        syscall

        mov     $NR_pause, %eax         /* 2 */
        syscall
        ud2

        .equ    exact_instructions, \
                1 + 2 * LOOPS + 1 + CALLS * (5 + 2 * INNER) + 5 + 2

        .section .rodata
text:   .ascii  "EXACT DONE\n"
text_end:
        .section .note.GNU-stack, "", @progbits
