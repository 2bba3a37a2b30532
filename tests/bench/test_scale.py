"""The tables of docs/scale.md are what the program makes of the measured figures."""

from copy import replace

from bench.scale import BEGIN, END, PAGE, Measured, streams_of, tables


def test_the_page_has_the_tables_of_the_figures_as_they_are() -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    assert rest.partition(END)[0] == tables(), "run `make docs`"


def test_twice_the_work_for_a_stream_halves_what_an_instance_holds() -> None:
    measured = Measured.read()
    slower = replace(measured, cpu_of_stream=2 * measured.cpu_of_stream)
    for memory in (512, 2048):
        assert streams_of(memory, measured) - 2 * streams_of(memory, slower) in (0, 1)
    assert streams_of(512, measured) < streams_of(2048, measured)
