"""A bundle may come from anybody: what is refused, what is read, and no traceback ever."""

import gzip
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import ErrorCode, InputError
from provisioner.hosts.bundle import MOST_BYTES, MOST_MEMBERS, MOST_UNPACKED, read_bundle
from provisioner.hosts.facts import Way
from provisioner.hosts.findings import findings_of
from provisioner.hosts.reading import read_facts
from provisioner.hosts.recorded_files import RecordedFiles
from provisioner.hosts.topology import topology_of
from tests.unit.hosts.built import HEAD, good_host, packed


def refusal(content):
    with pytest.raises(InputError) as caught:
        read_bundle(content, source="x.tar.gz")
    assert caught.value.code is ErrorCode.BUNDLE_INVALID
    assert caught.value.brief.startswith("x.tar.gz: ")
    return caught.value.brief


def member(name, **fields):
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info


def tar_of(*members):
    """Members as they are, with a good head before them."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(member("bundle", size=len(HEAD)), io.BytesIO(HEAD.encode()))
        for each in members:
            tar.addfile(each, io.BytesIO(b"x" * each.size))
    return buffer.getvalue()


def test_a_bundle_is_read_packed_or_not():
    texts = good_host().texts()
    one = read_bundle(packed(texts), source="x")
    other = read_bundle(gzip.decompress(packed(texts)), source="x")
    assert one.files == other.files != {}
    assert one.taken_at == 1796000000.0
    assert one.commands["nvidia-smi"].status is None
    assert one.commands["uname"].output == "x86_64\n"
    assert one.links["/sys/class/iommu/dmar0"] == "../../devices/virtual/iommu/dmar0"
    assert one.sha256 != other.sha256


@pytest.mark.parametrize(
    ("info", "problem"),
    [
        (member("../etc/passwd"), "a name that is none"),
        (member("/etc/passwd"), "a name that is none"),
        (member("files/../../x"), "a name that is none"),
        (member("commands/a/b"), "a name that is none"),
        (member("commands/.hidden"), "a name that is none"),
        (member("evil", type=tarfile.DIRTYPE), "a folder that is none"),
        (member("commands/a", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "regular files"),
        (member("commands/a", type=tarfile.LNKTYPE, linkname="bundle"), "regular files"),
        (member("commands/a", type=tarfile.CHRTYPE), "regular files"),
        (member("commands/a", type=tarfile.FIFOTYPE), "regular files"),
        (member("notes"), "unknown, or there twice"),
        (member("bundle"), "unknown, or there twice"),
    ],
)
def test_members_that_are_none_of_a_bundle(info, problem):
    assert problem in refusal(tar_of(info))


def test_all_problems_are_told_at_once():
    texts = {
        "bundle": "rackwright-host-bundle 2\n",
        "files/a": "no head\n",
        "links/a": "/x => /y\n",
        "commands/a.status": "well\n",
    }
    brief = refusal(packed(texts))
    for part in (
        "files/a: `==> /PATH <==` is expected",
        "links/a, line 1: `/PATH -> TARGET` is expected",
        "bundle: `rackwright-host-bundle 1` is expected in its file `bundle`, '2' is there",
        "bundle: `taken_at SECONDS`",
        "bundle: `uid NUMBER`",
        "commands/a.status: a number or `missing`",
    ):
        assert part in brief


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"<html>not found</html>", b"\0" * 100])
def test_what_is_no_tar(content):
    refusal(content)


def test_a_file_that_is_cut_off():
    whole = packed(good_host().texts())
    for length in range(1, len(whole) - 1, 97):
        refusal(whole[:length])
    plain = gzip.decompress(whole)
    assert "cut off" in refusal(plain[: len(plain) // 2])


def test_a_file_that_grows_when_it_is_unpacked():
    assert "unpacked it is larger" in refusal(gzip.compress(b"\0" * (MOST_UNPACKED + 1)))
    assert "larger than" in refusal(b"x" * (MOST_BYTES + 1))
    many = [member(f"commands/c{number}") for number in range(MOST_MEMBERS + 1)]
    assert "more than" in refusal(tar_of(*many))


def test_markup_in_a_text_is_text():
    host = good_host()
    host.commands["virsh-domains"] = (
        '<!DOCTYPE a [<!ENTITY b "c">]><domain><name>&b;</name></domain>'
    )
    host.rename("0000:17:00.0", "NVIDIA Corporation", "[red]NVIDIA[/red] <b>")
    facts = host.facts()
    assert [each.path for each in facts.problems] == ["virsh dumpxml"]
    assert facts.device("0000:17:00.0").name.startswith("[red]NVIDIA[/red] <b>")


MEMBERS = sorted(good_host().texts())


@given(st.binary(max_size=400))
def test_no_bytes_give_a_traceback(content):
    for each in (content, gzip.compress(content)):
        with pytest.raises(InputError):
            read_bundle(each, source="x")


@given(st.data())
def test_no_text_gives_a_traceback(data):
    """A good bundle with one text broken: cut, doubled, or with something else in the middle."""
    texts = dict(good_host().texts())
    name = data.draw(st.sampled_from(MEMBERS))
    text = texts[name].encode()
    at = data.draw(st.integers(0, len(text)))
    put = data.draw(
        st.one_of(st.binary(max_size=30), st.text("0123456789 abcdefx:[]-()|\n\t", max_size=30))
    )
    put = put.encode() if isinstance(put, str) else put
    texts[name] = text[:at] + put + text[data.draw(st.integers(at, len(text))) :]
    try:
        bundle = read_bundle(packed(texts), source="x")
    except InputError:
        return
    facts = read_facts(bundle, way=Way.BUNDLE)
    findings_of(facts)
    topology_of(facts, everything=True)


PATHS = st.lists(st.sampled_from(["sys", "a", "b", "..", "c"]), min_size=1, max_size=5).map(
    lambda parts: "/" + "/".join(parts)
)


@given(
    st.dictionaries(PATHS, st.binary(max_size=3)),
    st.dictionaries(PATHS, PATHS | st.just("../a")),
    PATHS,
)
def test_links_in_any_way_lead_somewhere_or_nowhere(files, links, path):
    tree = RecordedFiles(files, links)
    tree.read(path)
    tree.names(path)
    tree.below("/sys").place("a/b")


def test_links_are_followed_as_the_kernel_does():
    tree = RecordedFiles(
        {"/sys/bus/pci/devices/x/vendor": b"1", "/sys/devices/root/x/device": b"2"},
        {
            "/sys/bus/pci/devices/x": "../../../devices/root/x",
            "/sys/bus/pci/devices/x/driver": "../../../bus/pci/drivers/d",
            "/sys/loop": "loop",
        },
    ).below("/sys")
    assert tree.names("bus/pci/devices") == ("x",)
    assert tree.names("bus/pci/devices/x") == ("device", "driver", "vendor")
    assert tree.read("devices/root/x/vendor") == b"1"
    assert tree.place("bus/pci/devices/x") == "devices/root/x"
    assert tree.place("bus/pci/devices/x/driver") == "bus/pci/drivers/d"
    assert tree.read("loop") is tree.place("loop") is None
    assert tree.names("nowhere") == ()
