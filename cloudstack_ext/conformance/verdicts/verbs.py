"""Pitfalls of which word is called: verbs, custom actions, Java class names. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import Pitfall, behaviour

VERBS: Final[Sequence[Pitfall]] = (
    behaviour(
        "33",
        "a custom action named like a verb",
        "the payload's key `action` decides, whatever argv says",
        "a custom action named like a verb is no verb",
        "a custom action that nobody made fails",
    ),
    behaviour(
        "34",
        "Java class names as verbs, without an instance",
        "fail at once, without a word to the service",
        "java class names fail",
    ),
    behaviour(
        "48",
        "the documentation's `deploy` is `create`",
        "create is served, what no server sends is refused",
        "create needs no prepare before it",
        "an unknown verb fails",
    ),
    behaviour(
        "50",
        "the samples in CloudStack's tree are no models",
        "an extension as people write them fails at least 25 of the checks",
        "tests/service/conformance/test_example.py::test_a_naive_extension_fails_many",
    ),
    behaviour(
        "seen 2.3",
        "success to a Java class name does harm",
        "always a failure",
        "java class names fail",
    ),
    behaviour(
        "seen 2.15",
        "an action's job is a success even when it failed",
        "a failure ends non-zero; names of verbs are no verbs",
        "a custom action that nobody made fails",
        "a custom action named like a verb is no verb",
    ),
    behaviour(
        "seen 2.16",
        "primary storage on the cluster: Java class names",
        "always a failure",
        "java class names fail",
    ),
)
