"""The chain: nothing can be changed, cut off, moved, put in or forged without being seen."""

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provisioner.adapters.keys.evidence_key import verify_signature
from provisioner.evidence.chain import (
    FIRST_PREVIOUS,
    canonical,
    head_of,
    key_change,
    key_id,
    link,
    record_hash,
    verify_chain,
    verify_record,
)
from tests.unit.evidence.keys import signing_key

ONE, TWO, STRANGER = signing_key(1), signing_key(2), signing_key(3)
TRUSTED = {ONE.key_id(): ONE.public}


def chain(*documents, signer=ONE, after=()):
    records = list(after)
    for document in documents:
        previous = records[-1]["hash"] if records else None
        records.append(link(document, previous, len(records) + 1, signer))
    return records


def sealed_again(record, signer=ONE):
    """What a forger with a key would write: hash and signature fit the content."""
    record["hash"] = record_hash(record)
    record["signature"] = signer.sign(b"rackwright-evidence-1:" + record["hash"].encode())
    return record


GOOD = chain({"n": 1}, {"n": 2}, {"n": 3})


def problems(records, *, keys=TRUSTED, head=None):
    checked = verify_chain(records, keys, verify_signature, head=head)
    return [str(problem) for problem in checked.problems]


def test_a_good_chain_has_no_problem_and_a_head():
    checked = verify_chain(GOOD, TRUSTED, verify_signature)
    assert checked.problems == ()
    assert checked.records == 3
    assert checked.head == {"version": 1, "sequence": 3, "hash": GOOD[2]["hash"]}
    assert GOOD[0]["previous"] == FIRST_PREVIOUS


def test_an_empty_chain_is_a_chain():
    assert problems([]) == []
    assert head_of([]) is None


def changed(place, **fields):
    records = copy.deepcopy(GOOD)
    records[place].update(fields)
    return records


FORGERIES = {
    "changed content": (changed(1, document={"n": 99}), "record 2: it was changed"),
    "changed hash": (changed(1, hash="0" * 64), "record 2: it was changed"),
    "changed signature": (changed(1, signature="00" * 64), "record 2: its signature is wrong"),
    "malformed signature": (changed(1, signature="no hex"), "record 2: its signature is wrong"),
    "signature of another record": (
        changed(1, signature=GOOD[2]["signature"]),
        "record 2: its signature is wrong",
    ),
    "one left out": ([GOOD[0], GOOD[2]], "record 2: it does not follow the record before it"),
    "moved": (
        [GOOD[0], GOOD[2], GOOD[1]],
        "record 2: it says that it is number 3",
    ),
    "begun in the middle": (GOOD[1:], "record 1: it does not follow"),
    "another key": (chain({"n": 1}, signer=STRANGER), "record 1: signed by key"),
    "another version": (changed(1, version=2), "record 2: its version is 2"),
    "one field more": (changed(1, note="x"), "record 2: it is not a record"),
    "no record": ([GOOD[0], "x", GOOD[2]], "record 2: it is not a record"),
    "a fraction": (changed(1, document={"n": 1.5}), "record 2: 1.5: evidence holds whole"),
    "put in, hash fitting": (
        [GOOD[0], sealed_again({**GOOD[1], "document": {"n": 7}}, STRANGER), GOOD[2]],
        "record 2: its signature is wrong",
    ),
    "signed again with the right key, but the next one holds the old hash": (
        [GOOD[0], sealed_again({**GOOD[1], "document": {"n": 7}}), GOOD[2]],
        "record 3: it does not follow",
    ),
    "key named as another's": (
        [sealed_again({**GOOD[0], "key": STRANGER.key_id()}, ONE), *GOOD[1:]],
        "record 1: signed by key",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_every_forgery_is_seen(name):
    records, text = FORGERIES[name]
    assert any(problem.startswith(text) for problem in problems(records))


def test_a_chain_with_a_problem_gives_no_head():
    assert verify_chain(GOOD[1:], TRUSTED, verify_signature).head is None


def test_all_problems_are_told_not_the_first_alone():
    records = copy.deepcopy(GOOD)
    records[0]["document"] = {}
    records[2]["signature"] = ""
    assert {problem.split(":")[0] for problem in problems(records)} == {"record 1", "record 3"}


# --- the head ---------------------------------------------------------------------------------
def test_an_older_head_is_contained_in_the_longer_chain():
    head = head_of(GOOD[:2])
    assert problems(GOOD, head=head) == []


def test_a_chain_that_was_cut_off_is_seen_by_its_head_alone():
    assert problems(GOOD[:2]) == []
    assert problems(GOOD[:2], head=head_of(GOOD)) == ["cut off: 2 records, the head knows 3"]


def test_a_chain_that_was_written_anew_with_the_right_key_is_seen_by_its_head():
    anew = chain({"n": 1}, {"n": "other"}, {"n": 3})
    assert problems(anew) == []
    assert problems(anew, head=head_of(GOOD)) == [
        "another chain: record 3 is not the one that the head knows"
    ]


@pytest.mark.parametrize("head", [{}, {"version": 1, "sequence": 0}, {"version": 9, "sequence": 1}])
def test_what_is_no_head_is_not_taken_for_one(head):
    assert problems(GOOD, head=head) == ["the head is not one of ours"]


# --- another key -----------------------------------------------------------------------------
def handed_over():
    before = chain({"n": 1}, key_change(TWO.public, "op", "yearly", "2026-01-01T00:00:00Z"))
    return chain({"n": 3}, signer=TWO, after=before)


def test_a_key_that_the_old_key_handed_over_to_is_trusted():
    assert problems(handed_over()) == []


def test_the_old_key_is_over_after_the_change():
    records = chain({"n": 4}, signer=ONE, after=handed_over())
    assert problems(records) == [
        f"record 4: signed by key {ONE.key_id()[:16]}, which is not trusted"
    ]


def test_a_change_signed_by_the_new_key_itself_hands_nothing_over():
    change = key_change(TWO.public, "op", "why", "2026-01-01T00:00:00Z")
    records = chain({"n": 3}, signer=TWO, after=chain(change, signer=TWO, after=GOOD[:1]))
    assert len(problems(records)) == 2


def test_a_second_trusted_key_may_not_go_on_without_a_change():
    records = chain({"n": 2}, signer=TWO, after=GOOD[:1])
    keys = {**TRUSTED, TWO.key_id(): TWO.public}
    assert problems(records, keys=keys) == [
        f"record 2: signed by key {TWO.key_id()[:16]}, which is not trusted"
    ]


def test_a_change_without_a_key_is_told():
    records = chain({"kind": "key-change", "new_key": "zz"})
    assert problems(records) == ["record 1: it names no new key"]


def test_the_key_that_stands_in_a_document_is_never_trusted_by_itself():
    change = key_change(STRANGER.public, "op", "why", "2026-01-01T00:00:00Z")
    records = chain({"n": 2}, signer=STRANGER, after=chain(change, signer=STRANGER))
    assert all("not trusted" in problem for problem in problems(records))
    assert len(problems(records)) == 2


# --- the canonical form ---------------------------------------------------------------------------
names = st.text(max_size=4)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
few = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])


@few
@given(st.dictionaries(names, trees, max_size=4))
def test_one_tree_has_one_form_whatever_the_order_of_its_keys(tree):
    turned = dict(reversed(list(tree.items())))
    assert canonical(turned) == canonical(tree)
    assert canonical(tree).isascii()


@few
@given(
    st.dictionaries(names, trees, min_size=1, max_size=4), st.dictionaries(names, trees, max_size=4)
)
def test_another_document_never_verifies(document, other):
    record = link(document, None, 1, ONE)
    assert verify_record(record, TRUSTED, verify_signature) == []
    forged = {**record, "document": other}
    assert bool(verify_record(forged, TRUSTED, verify_signature)) == (
        canonical(other) != canonical(document)
    )


@few
@given(st.lists(trees, max_size=4))
def test_no_tree_breaks_the_verification(records):
    checked = verify_chain(records, TRUSTED, verify_signature)
    assert bool(checked.problems) == bool(records)


def test_a_key_is_named_by_its_digest():
    assert key_id(ONE.public) == ONE.key_id()
