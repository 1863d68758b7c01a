"""`rackwright evidence`: look at wipe records, take them along, verify them offline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from provisioner.cli.options import option
from provisioner.cli.output import JSON, printable, show_json, show_table
from provisioner.cli.session import FILE, Session, asks, output_option
from provisioner.errors import ErrorCode, InputError, OperatorError

if TYPE_CHECKING:
    from provisioner.evidence.chain import Checked

KEYS: Final = option(
    "--key",
    "key_files",
    type=FILE,
    multiple=True,
    required=True,
    help="Public key (PEM) from a hand that you trust; once for each.",
)


@click.group()
def evidence() -> None:
    """Evidence: the signed chain of wipes."""


@evidence.command()
@click.argument("sequence", type=int, required=False)
@asks
@click.pass_obj
def show(session: Session, sequence: int | None, output: str) -> None:
    """All records in short, or the one with this number in full. This verifies nothing."""
    records = session.service().ask("GET", "/v1/evidence")["records"]
    if sequence is not None:
        records = [each for each in records if each["sequence"] == sequence]
        if not records:
            raise InputError(ErrorCode.EVIDENCE_UNKNOWN, f"there is no record {sequence}")
    if output == JSON:
        show_json({"version": 1, "records": records})
    elif sequence is not None:
        show_json(records[0])
    else:
        columns = ("NUMBER", "KIND", "SERVER", "CLASS", "AT", "HASH")
        show_table(columns, [_row(each) for each in records])


@evidence.command()
@option("--all", "folder", type=FILE, metavar="DIR", required=True, help="A new folder.")
@asks
@click.pass_obj
def export(session: Session, folder: Path, output: str) -> None:
    """Write every record, the head of the chain and the key it names into a folder.

    Keep the head elsewhere: with it, a chain that was cut off or replaced is seen.
    """
    from provisioner.evidence.files import write_export

    found = session.service().ask("GET", "/v1/evidence")
    written = write_export(folder, found["records"], found["untrusted_key"].encode())
    if output == JSON:
        show_json({"version": 1, "folder": str(folder), "files": [path.name for path in written]})
    else:
        click.echo(f"{_count(len(found['records']))} in {folder}")


@evidence.command()
@click.argument("file", type=FILE)
@KEYS
@output_option
@click.pass_obj
def verify(session: Session, file: Path, key_files: tuple[Path, ...], output: str) -> None:
    """Check one exported record: unchanged, and signed by a key of yours."""
    from provisioner.evidence.verify import trusted_keys, verify_file

    keys = trusted_keys(key_files, session.callbacks.keys.read_public_key)
    _judge(verify_file(file, keys, session.callbacks.keys.verify_signature), output)


@evidence.command("verify-chain")
@click.argument("folder", type=FILE)
@KEYS
@option("--head", type=FILE, help="The head that you kept elsewhere.")
@output_option
@click.pass_obj
def verify_chain(
    session: Session, folder: Path, key_files: tuple[Path, ...], head: Path | None, output: str
) -> None:
    """Check a whole export: every record, their order, and with --head their completeness."""
    from provisioner.evidence.verify import trusted_keys, verify_export

    keys = trusted_keys(key_files, session.callbacks.keys.read_public_key)
    checked = verify_export(folder, keys, session.callbacks.keys.verify_signature, head=head)
    _judge(checked, output)
    if head is None and output != JSON:
        text = "a chain cut off together with its head is seen by one from elsewhere alone: --head"
        click.echo(text, err=True)


def _judge(checked: "Checked", output: str) -> None:
    problems: Sequence[str] = [printable(each) for each in checked.problems]
    if output == JSON:
        show_json(
            {
                "version": 1,
                "good": not problems,
                "records": checked.records,
                "head": checked.head,
                "problems": problems,
            }
        )
    if problems:
        raise OperatorError(ErrorCode.EVIDENCE_INVALID, "; ".join(problems))
    if output != JSON:
        click.echo(f"{_count(checked.records)}, all good")


def _count(records: int) -> str:
    return "1 record" if records == 1 else f"{records} records"


def _row(each: Mapping[str, Any]) -> tuple[object, ...]:
    """Of a wipe; of a change of key, who did it."""
    document = each["document"]
    server = document.get("server", {}).get("name") or document.get("who", "")
    times = document.get("times", {})
    at = times["verified"]["ended"] if "verified" in times else document.get("at", "")
    return (each["sequence"], document["kind"], server, document.get("class", ""), at, each["hash"])
