"""Why a server is in quarantine, and what its quarantine could not make sure of. Pure.

Both stand in one line, the reason first: "a fan smells; possibly still running: CODE: ...". The
doubt goes when a later quarantine has settled it, and why the server is there stays.
"""

import re
from typing import Final

POSSIBLY_RUNNING: Final = "possibly still running"
"""Off was never confirmed (invariant 5)."""
NOT_CUT_OFF: Final = "not cut off"
"""It is off, and a port of it leads somewhere."""
_DOUBT: Final = re.compile(f"(?:{POSSIBLY_RUNNING}|{NOT_CUT_OFF}): ")


def with_doubt(reason: str, code: str, brief: str) -> str:
    """The reason after a quarantine that failed; what fails without a word leaves all open."""
    doubt = brief if _DOUBT.match(brief) else f"{POSSIBLY_RUNNING}: {code}: {brief}"
    return _joined(_split(reason)[0], doubt)


def without_doubt(reason: str) -> str:
    """The reason after a quarantine that was done; of a bare doubt what it was about."""
    why, doubt = _split(reason)
    return why or _DOUBT.sub("", doubt, count=1)


def is_in_doubt(reason: str) -> bool:
    """A person should look whether it is off and cut off."""
    return bool(_split(reason)[1])


def said_anew(reason: str, new: str) -> str:
    """Somebody quarantines it again and says why: the doubt stands until it is settled."""
    return _joined(new, _split(reason)[1])


def _split(reason: str) -> tuple[str, str]:
    found = _DOUBT.search(reason)
    if found is None:
        return reason, ""
    return reason[: found.start()].removesuffix("; "), reason[found.start() :]


def _joined(why: str, doubt: str) -> str:
    return "; ".join(each for each in (why, doubt) if each)
