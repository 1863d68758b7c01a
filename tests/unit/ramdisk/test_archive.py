import json
import stat

from hypothesis import given
from hypothesis import strategies as st

from provisioner.ramdisk.cpio import Entry, archive, entries_of, file_entry, folder_entry
from provisioner.ramdisk.site import site_archive

NAMES = st.text(alphabet="abcdefghij", min_size=1, max_size=12)


def unpacked(data):
    """Path -> (mode, content, date), by the format's own rules, until the trailer."""
    found, at = {}, 0
    while True:
        assert at % 4 == 0
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + n * 8 : at + 14 + n * 8], 16) for n in range(13)]
        _, mode, user, group, _, date, size, *_, name_length, _ = fields
        name = data[at + 110 : at + 110 + name_length]
        assert name.endswith(b"\0")
        assert (user, group) == (0, 0)
        begin = (at + 110 + name_length + 3) // 4 * 4
        path = name[:-1].decode()
        if path == "TRAILER!!!":
            return found
        found[path] = (mode, data[begin : begin + size], date)
        at = (begin + size + 3) // 4 * 4


@given(st.dictionaries(NAMES, st.binary(max_size=40), max_size=6))
def test_an_archive_holds_what_was_put_in(files):
    data = b"".join(archive([file_entry(*each) for each in files.items()], date=5))
    assert unpacked(data) == {
        name: (stat.S_IFREG | 0o644, content, 5) for name, content in files.items()
    }
    assert len(data) % 4 == 0


def test_folders_and_links_keep_their_kind():
    link = Entry(path="bin", mode=stat.S_IFLNK | 0o777, content=b"usr/bin")
    found = unpacked(b"".join(archive([folder_entry("usr"), link], date=0)))
    assert stat.S_ISDIR(found["usr"][0])
    assert stat.S_ISLNK(found["bin"][0])
    assert found["bin"][1] == b"usr/bin"


def test_a_folder_gives_the_same_entries_whatever_its_times_and_permissions(tmp_path):
    made = []
    for name, mode in (("a", 0o600), ("b", 0o664)):
        folder = tmp_path / name
        (folder / "usr" / "bin").mkdir(parents=True, mode=0o700)
        (folder / "usr" / "bin" / "tool").write_bytes(b"x")
        (folder / "usr" / "bin" / "tool").chmod(mode | 0o100)
        (folder / "usr" / "text").write_bytes(b"y")
        (folder / "usr" / "text").chmod(mode)
        (folder / "bin").symlink_to("usr/bin")
        made.append(list(entries_of(folder)))
    assert made[0] == made[1]
    assert [each.path for each in made[0]] == ["bin", "usr", "usr/bin", "usr/bin/tool", "usr/text"]


def test_the_sites_archive_carries_authority_and_address():
    found = unpacked(site_archive(b"PEM", "https://10.66.0.1:8443"))
    assert found["etc/rackwright/ca.pem"][1] == b"PEM"
    body = json.loads(found["etc/rackwright/site.json"][1])
    assert body == {"version": 1, "url": "https://10.66.0.1:8443"}
    assert list(found)[:2] == ["etc", "etc/rackwright"]
