"""A ping counts only where both verbs say the same of every instance."""

import pytest

from tests.bench.ping import Ping

PING = Ping(together=([], {}), each={"i-7-1-VM": ([], {}), "i-7-2-VM": ([], {})})
ALL = '{"status":"success","power_state":{"i-7-1-VM":"poweron","i-7-2-VM":"poweron"}}'
ONE = '{"status":"success","power_state":"PowerOn"}'


def test_all_named_and_each_equal():
    PING.must_agree([[0.1, ALL]], [[0.1, ONE]] * 2)


@pytest.mark.parametrize(
    ("together", "ones"),
    [
        (ALL.replace(',"i-7-2-VM":"poweron"', ""), [ONE, ONE]),
        (ALL.replace("i-7-2-VM", "i-7-3-VM"), [ONE, ONE]),
        (ALL.replace('VM":"poweron"}', 'VM":"powerunknown"}'), [ONE, ONE]),
        (ALL, [ONE, ONE.replace("On", "Off")]),
        (ALL, [ONE]),
    ],
)
def test_one_that_is_missing_or_differs_is_noticed(together, ones):
    with pytest.raises(AssertionError):
        PING.must_agree([[0.1, together]], [[0.1, each] for each in ones])
