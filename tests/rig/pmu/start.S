/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Multiboot entry, traps and the way to ring 3 and back for the PMU's test.
 * 32-bit protected mode; DS and ES are the user's data segment all the time.
 */
        .set    KERNEL_CS, 0x08
        .set    KERNEL_SS, 0x10
        .set    USER_CS, 0x1b
        .set    USER_DS, 0x23

        .text
        .long   0x1badb002, 0, -0x1badb002

        .globl  _start
_start:
        cli
        lgdt    gdt_pointer
        ljmp    $KERNEL_CS, $1f
1:      mov     $KERNEL_SS, %eax
        mov     %eax, %ss
        mov     $USER_DS, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     $stack_top, %esp
        call    main
        hlt

        .globl  gdt
        .data
        .align  8
gdt:    .quad   0
        .quad   0x00cf9b000000ffff      /* ring 0 code */
        .quad   0x00cf93000000ffff      /* ring 0 data */
        .quad   0x00cffb000000ffff      /* ring 3 code */
        .quad   0x00cff3000000ffff      /* ring 3 data */
        .quad   0                       /* task state, filled in by main */
gdt_pointer:
        .word   . - gdt - 1
        .long   gdt

        .text
        .macro  stub vector, error
        .globl  stub\vector
stub\vector:
        .ifeq   \error
        push    $0
        .endif
        push    $\vector
        jmp     trap_common
        .endm

        stub    0, 0
        stub    2, 0
        stub    6, 0
        stub    13, 1
        stub    14, 1
        stub    80, 0                   /* the PMI's fixed vector */

trap_common:
        pusha
        push    %esp
        call    trap
        add     $4, %esp
        popa
        add     $8, %esp
        iret

/* void run_user(void (*code)(void)): CODE ends with int $0x81 */
        .globl  run_user
run_user:
        pusha
        mov     36(%esp), %eax
        mov     %esp, saved_esp
        push    $USER_DS
        push    $user_stack_top
        push    $0x202
        push    $USER_CS
        push    %eax
        iret

        .globl  user_done
user_done:
        mov     saved_esp, %esp
        popa
        ret

        .bss
        .align  16
        .skip   16384
stack_top:
        .globl  trap_stack_top
        .skip   16384
trap_stack_top:
        .skip   4096
user_stack_top:
saved_esp:
        .skip   4

        .section .note.GNU-stack, "", @progbits
