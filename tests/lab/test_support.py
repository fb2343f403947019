# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests how the support matrix is made from the doctor's output, and compared with it."""

import pytest

import support

DOCTOR = """hook\tmechanism\tsymbol\tstatus\treason
send\tfentry\ttcp_sendmsg\tattached\t
send\ttracepoint\tloop, length\tunavailable\tno tracepoint length
send\ttracepoint\tenter, exit\tmay miss\tsees some
completion\tfentry\tcallback\tattached\t
"""
OLDER = DOCTOR.replace("callback\tattached\t", "old_callback or callback\tunavailable\tno BTF")

KERNELS = [support.Kernel("1.0", "1.0.7-9", support.parse(OLDER)),
           support.Kernel("2.0", "2.0.1", support.parse(DOCTOR))]
TABLES = support.render(KERNELS)
PAGE = f"Words.\n{support.BEGIN}{TABLES}{support.END}More.\n"
MATRIX = support.documented(PAGE)


def complaints(name, text):
    return support.complaints(name, support.parse(text), MATRIX)


def test_tables():
    assert TABLES == """\
| hook | mechanism | symbol | 1.0 | 2.0 |
| --- | --- | --- | --- | --- |
| send | fentry | `tcp_sendmsg` | yes | yes |
| send | tracepoint | `loop, length` | no | no |
| send | tracepoint | `enter, exit` | may miss | may miss |
| completion | fentry | `old_callback` or `callback` | no | yes |

What was found missing, and what may be missed:

| hook | mechanism | kernels | reason |
| --- | --- | --- | --- |
| send | tracepoint | 1.0, 2.0 | no tracepoint length |
| send | tracepoint | 1.0, 2.0 | sees some |
| completion | fentry | 1.0 | no BTF |

Found on: 1.0 is 1.0.7-9, 2.0 is 2.0.1.
"""


def test_documented_answers_cause_no_complaint():
    assert not complaints("1.0", OLDER)
    assert not complaints("2.0", DOCTOR)


def test_a_hook_that_fails_is_named_with_its_reason():
    broken = DOCTOR.replace("tcp_sendmsg\tattached\t", "tcp_sendmsgs\tunavailable\tno such function")
    assert complaints("2.0", broken) == [
        "kernel 2.0: hook send by fentry (tcp_sendmsgs): unavailable, but docs/support.md has "
        "yes: no such function"]


def test_a_hook_that_the_verifier_refuses_does_not_pass_for_another_way():
    broken = DOCTOR.replace("may miss\tsees some", "unavailable\tInvalid argument")
    (line,) = complaints("2.0", broken)
    assert "by tracepoint (enter, exit)" in line and line.endswith("Invalid argument")


@pytest.mark.parametrize("text,words", [
    (DOCTOR.replace("attached\t\nsend", "may miss\tsome\nsend", 1), "has yes: some"),
    (DOCTOR.replace("completion\tfentry\tcallback\tattached\t\n", ""), "has no such line"),
    (DOCTOR + "completion\tkprobe\tcallback\tattached\t\n", "has unknown")])
def test_any_other_difference_is_one_too(text, words):
    (line,) = complaints("2.0", text)
    assert words in line and "kernel 2.0: hook " in line


def test_unknown_kernel():
    (line,) = complaints("3.0", DOCTOR)
    assert "no column" in line and "make lab-report" in line


def test_a_moving_kernel_must_have_each_hook_somehow():
    assert not complaints("newest", OLDER.replace("no BTF", "").replace("unavailable\t\n", "attached\t\n"))
    assert complaints("newest", OLDER) == [
        "kernel newest: hook completion: no mechanism has it: no BTF"]


@pytest.mark.parametrize("text", ["analyze: not enough privileges\n",
                                  DOCTOR + "send\tfentry\n",
                                  DOCTOR + "send\tkprobe\tx\tmaybe\t\n"])
def test_other_output_is_not_read_as_a_table(text):
    with pytest.raises(ValueError):
        support.parse(text)


def test_a_page_without_a_table():
    with pytest.raises(ValueError, match="make lab-report"):
        support.documented(support.BEGIN + support.END)


def test_kernels_that_must_be_tested_have_a_column():
    columns = support.documented(support.PAGE.read_text())
    for row in support.rows("matrix.tsv"):
        for kernel, when in row.items():
            assert when != "must" or kernel in columns, kernel


VERIFIER = """== kprobe, stages
libbpf: prog 'freed': BPF program load failed: Permission denied
libbpf: prog 'freed': -- BEGIN PROG LOAD LOG --
func#0 @0
combined stack size of 4 calls is 544. Too large
verification time 1 usec
stack depth 24+8
processed 9 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
-- END PROG LOAD LOG --
libbpf: failed to load object 'sendpath'
analyze: the kernel refused the programs: Permission denied (--verbose shows why)
"""


@pytest.mark.parametrize("output,line", [
    (VERIFIER, "freed: combined stack size of 4 calls is 544. Too large"),
    ("== doctor\nanalyze: no BTF\n", "analyze: no BTF"),
    ("== kprobe\n{}\nlab: kernel 6.1 reported a bug: BUG: x\nlab: the kernel log ends:\n    y\n",
     "lab: kernel 6.1 reported a bug: BUG: x"),
    ("bash: no such file\n", "bash: no such file"), ("", "no output")])
def test_why_a_load_fails(output, line):
    assert support.refusal(output) == line


def test_sections_are_named():
    assert support.sections("x\n== a, b\n1\n2\n== c\n") == [("a, b", "1\n2\n"), ("c", "")]
