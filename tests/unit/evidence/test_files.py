"""Exported evidence is verified from files alone."""

import json

import pytest

from provisioner.adapters.keys.evidence_key import read_public_key, verify_signature
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError
from provisioner.evidence.chain import link
from provisioner.evidence.files import HEAD, UNTRUSTED_KEY, write_export
from provisioner.evidence.verify import trusted_keys, verify_export, verify_file
from tests.unit.evidence.keys import signing_key

KEY, OTHER = signing_key(1), signing_key(2)


def three():
    records = []
    for number in (1, 2, 3):
        previous = records[-1]["hash"] if records else None
        records.append(link({"n": number}, previous, number, KEY))
    return records


@pytest.fixture
def export(tmp_path):
    write_export(tmp_path / "out", three(), KEY.public_pem())
    (tmp_path / "key.pem").write_bytes(KEY.public_pem())
    return tmp_path / "out"


@pytest.fixture
def keys(export):
    return trusted_keys([export.parent / "key.pem"], read_public_key)


def texts(checked):
    return [str(problem) for problem in checked.problems]


def test_one_file_a_record_a_head_and_a_key_that_says_that_it_is_not_trusted(export):
    names = sorted(path.name for path in export.iterdir())
    assert names == ["00000001.json", "00000002.json", "00000003.json", HEAD, UNTRUSTED_KEY]


def test_what_was_exported_verifies(export, keys):
    checked = verify_export(export, keys, verify_signature, head=export / HEAD)
    assert checked.problems == ()
    assert checked.records == 3
    assert verify_file(export / "00000002.json", keys, verify_signature).problems == ()


def test_a_changed_byte_is_seen_in_the_file_and_in_the_chain(export, keys):
    file = export / "00000002.json"
    file.write_text(file.read_text().replace('"n": 2', '"n": 4'))
    assert texts(verify_file(file, keys, verify_signature)) == [
        "it was changed: its content has another hash",
        "its signature is wrong",
    ]
    assert texts(verify_export(export, keys, verify_signature, head=None))


def test_a_file_taken_away_is_seen(export, keys):
    elsewhere = export.parent / "kept.json"
    elsewhere.write_bytes((export / HEAD).read_bytes())
    (export / "00000003.json").unlink()
    seen = verify_export(export, keys, verify_signature, head=None)
    assert texts(seen) == ["cut off or replaced: its head.json names record 3, 2 are there"]
    assert seen.head is None
    (export / HEAD).unlink()  # whoever cuts can do this too
    assert texts(verify_export(export, keys, verify_signature, head=None)) == []
    kept = verify_export(export, keys, verify_signature, head=elsewhere)
    assert texts(kept) == ["cut off: 2 records, the head knows 3"]
    (export / "00000001.json").unlink()
    assert texts(verify_export(export, keys, verify_signature, head=None))


def test_a_folder_without_a_record_is_not_good(tmp_path, keys):
    write_export(tmp_path / "none", [], KEY.public_pem())
    for folder in (tmp_path / "none", tmp_path / "bare"):
        folder.mkdir(exist_ok=True)
        checked = verify_export(folder, keys, verify_signature, head=None)
        assert texts(checked) == [f"{folder} holds no record: nothing is proven"]


def test_a_head_beside_other_records_is_seen(export, keys):
    head = json.loads((export / HEAD).read_text())
    (export / HEAD).write_text(json.dumps(head | {"hash": "0" * 64}))
    assert "replaced" in texts(verify_export(export, keys, verify_signature, head=None))[0]
    (export / "00000003.json").write_text("{}")
    assert texts(verify_export(export, keys, verify_signature, head=None))


def test_the_key_beside_the_records_proves_nothing(export, keys):
    forged = link({"n": 1}, None, 1, OTHER)
    (export / "00000001.json").write_text(json.dumps(forged))
    (export / UNTRUSTED_KEY).write_bytes(OTHER.public_pem())
    assert any(
        "not trusted" in text
        for text in texts(verify_export(export, keys, verify_signature, head=None))
    )


def test_nothing_is_exported_over_something(export):
    with pytest.raises(ConflictError) as caught:
        write_export(export, three(), KEY.public_pem())
    assert caught.value.code is ErrorCode.IN_USE


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OperatorError):
        write_export(tmp_path / "file" / "out", three(), KEY.public_pem())


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"a":1,"a":2}', "[" * 100_000, "\udcff"])
def test_a_damaged_record_is_a_bad_one_and_a_damaged_head_of_ours_no_head(export, keys, content):
    kept, last = export.parent / "kept.json", export / "00000003.json"
    for path in (kept, last):
        path.write_text(content, errors="surrogateescape")
    assert texts(verify_file(last, keys, verify_signature)) == ["it is not a record"]
    seen = texts(verify_export(export, keys, verify_signature, head=None))
    assert "record 3: it is not a record" in seen
    with pytest.raises(InputError, match=r"kept\.json") as caught:
        verify_export(export, keys, verify_signature, head=kept)
    assert caught.value.code is ErrorCode.FILE_UNREADABLE


def test_a_record_cut_off_in_the_middle_is_seen_by_itself_and_by_the_next(export, keys):
    file = export / "00000002.json"
    file.write_bytes(file.read_bytes()[:100])
    assert texts(verify_export(export, keys, verify_signature, head=None)) == [
        "record 2: it is not a record",
        "record 3: it does not follow the record before it",
    ]


def test_a_damaged_head_beside_the_records_is_seen(export, keys):
    (export / HEAD).write_text("{")
    (seen,) = texts(verify_export(export, keys, verify_signature, head=None))
    assert seen.startswith("cut off or replaced")


@pytest.mark.parametrize("lacks", ["nothing", "folder"])
def test_what_is_not_there_is_not_judged(export, keys, lacks):
    path = export / "00000009.json" if lacks == "nothing" else export / "none" / "1.json"
    with pytest.raises(InputError):
        verify_file(path, keys, verify_signature)
    with pytest.raises(InputError):
        verify_export(export / "none", keys, verify_signature, head=None)


@pytest.mark.parametrize("content", [b"", b"no pem"])
def test_a_key_file_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(InputError):
        trusted_keys([tmp_path / "key.pem"], read_public_key)
    with pytest.raises(InputError):
        trusted_keys([tmp_path / "none.pem"], read_public_key)
