"""No secret in clear in any file of the database; seeds are gone when they were used."""

import hashlib

import pytest

from provisioner.errors import ConflictError, OperatorError
from provisioner.secret import Secret
from provisioner.servers.operation import Outcome
from provisioner.servers.states import Ending, Intent
from provisioner.store.codec import plain
from provisioner.testing import store
from provisioner.units import OperationId, WallSeconds

NOW = WallSeconds(10.0)
SEED = b"#cloud-config\npassword: hunter2-hunter2\n" * 100
REQUEST = store.instance_request()


@pytest.fixture
def deploying(database):
    new = store.operation(Intent.DEPLOY)
    database.seeds.put_seed(new.id, SEED)
    database.allocations.allocate_and_open(REQUEST, "tiny", new, now=NOW)
    return new.id


def test_no_secret_stands_in_clear_in_the_database_or_beside_it(database, folder, deploying):
    database.servers.enrol(store.new_server("s9"), Secret("correct-horse-battery"))
    files = sorted(folder.glob("rackwright.db*"))
    assert any(path.name.endswith("-wal") for path in files)
    content = b"".join(path.read_bytes() for path in files)
    assert b"s9" in content  # what is looked for would be found
    assert f"seed {deploying}".encode() not in content
    for secret in (b"correct-horse", b"hunter2", b"cloud-config"):
        assert secret not in content
        assert secret.hex().encode() not in content


def test_a_secret_never_becomes_a_value_of_a_column():
    with pytest.raises(TypeError, match="secret"):
        plain({"password": Secret("x")})


def test_a_seed_comes_back_until_it_is_dropped(database, deploying):
    assert database.seeds.seed(deploying) == SEED
    database.seeds.drop_seed(deploying)
    database.seeds.drop_seed(deploying)
    assert database.seeds.seed(deploying) is None


def test_a_seed_has_its_digest_and_takes_the_older_ones_place(database, deploying):
    assert database.seeds.put_seed(deploying, b"other") == hashlib.sha256(b"other").hexdigest()
    assert database.seeds.seed(deploying) == b"other"


def test_a_seed_does_not_outlive_its_operation(database, sql, deploying):
    store.close(database, "s1", Outcome(ending=Ending.OURS))
    assert sql("SELECT count(*) FROM seed") == [(0,)]
    with pytest.raises(ConflictError, match="OPERATION_ENDED"):
        database.seeds.put_seed(deploying, SEED)


def test_a_superseded_operation_loses_its_seed(database, sql, deploying):
    release = store.operation(Intent.RELEASE)
    database.allocations.end_and_open(REQUEST.key, "x", release, tombstone=False, now=NOW)
    assert sql("SELECT count(*) FROM seed") == [(0,)]


def test_a_seed_whose_operation_was_never_opened_goes_with_the_next_start(
    database, folder, clock, deploying
):
    database.seeds.put_seed(OperationId("never opened"), SEED)
    database.close()
    again = store.open_store(folder, clock)
    assert again.seeds.seed(OperationId("never opened")) is None
    assert again.seeds.seed(deploying) == SEED
    again.close()


def test_a_sealed_text_opens_for_its_purpose_only(database, sql):
    sql("UPDATE server SET password = (SELECT password FROM server WHERE name = 's2')")
    with pytest.raises(OperatorError):
        database.servers.password("s1")
    assert database.servers.password("s2").reveal() == "password of s2"
