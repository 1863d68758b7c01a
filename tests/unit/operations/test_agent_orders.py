"""What the agent says of a failure, as one of our errors."""

import pytest

from provisioner.errors import ErrorCode, InputError, OperatorError, TransientError
from provisioner.operations.agent_orders import error_of

TABLE = [
    ("DISK_NOT_FOUND", InputError, "DISK_NOT_FOUND"),
    ("DISK_AMBIGUOUS", InputError, "DISK_AMBIGUOUS"),
    ("DISK_TOO_SMALL", InputError, "DISK_TOO_SMALL"),
    ("DISK_SECTOR_SIZE", InputError, "DISK_SECTOR_SIZE"),
    ("BLOBS_UNREACHABLE", TransientError, "BLOBS_UNREACHABLE"),
    ("IMAGE_DIGEST", TransientError, "IMAGE_DIGEST"),
    ("EPOCH_DIFFERS", TransientError, "EPOCH_DIFFERS"),
    ("DISK_FAILED", OperatorError, "DISK_FAILED"),
    ("IMAGE_READ_BACK", OperatorError, "IMAGE_READ_BACK"),
    ("NO_SUCH_CODE", OperatorError, "AGENT_FAILED"),
    ("", OperatorError, "AGENT_FAILED"),
]


@pytest.mark.parametrize(("said", "kind", "code"), TABLE)
def test_a_word_of_the_agent_is_an_error_of_ours(said, kind, code):
    error = error_of(said, "as it said")
    assert type(error) is kind
    assert error.code is ErrorCode(code)
    assert "as it said" in error.brief
