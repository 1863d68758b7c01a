"""A ping counts only where both verbs say the same of every instance."""

import pytest

from tests.bench.ping import Ping

PING = Ping(together=([], {}), each={"i-7-1-VM": ([], {}), "i-7-2-VM": ([], {})})
ALL = '{"status":"success","power_state":{"i-7-1-VM":"poweron","i-7-2-VM":"poweron"}}'
ONE = '{"status":"success","power_state":"PowerOn"}'


def test_all_named_and_each_equal():
    assert PING.differing([[0.1, ALL]] * 2, [[0.1, ONE]] * 2) == 0


@pytest.mark.parametrize(
    ("together", "ones"),
    [
        (ALL.replace(',"i-7-2-VM":"poweron"', ""), [ONE, ONE]),
        (ALL.replace("i-7-2-VM", "i-7-3-VM"), [ONE, ONE]),
        (ALL.replace('VM":"poweron"}', 'VM":"powerunknown"}'), [ONE, ONE]),
        (ALL, [ONE, ONE.replace("On", "Off")]),
        ('{"status":"error","error":"DEADLINE"}', [ONE, ONE]),
        (ALL, [ONE, '{"status":"error","error":"INTERNAL"}']),
    ],
)
def test_one_that_is_missing_or_differs_is_counted(together, ones):
    assert PING.differing([[0.1, together]], [[0.1, each] for each in ones]) == 1
