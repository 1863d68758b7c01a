"""What each error code means and what to do: docs/errors.md is generated from here. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from provisioner.errors import ErrorCode

E = ErrorCode

# one row a code, cause and remedy side by side
# fmt: off
CATALOGUE: Mapping[ErrorCode, tuple[str, str]] = MappingProxyType(
    {
        E.PAYLOAD_EMPTY: ("The payload file holds nothing.", "Look at the management server's disk; ask again."),
        E.PAYLOAD_MALFORMED: ("The payload is no JSON (cut off, binary, nested too deeply).", "Look at the management server's log and disk; ask again."),
        E.PAYLOAD_TOO_LARGE: ("The payload is larger than 4 MiB.", "User data of CloudStack ends at 1 MiB: find what else fills it."),
        E.PAYLOAD_NOT_AN_OBJECT: ("The payload is JSON, but no object.", "The entry was called by something other than CloudStack."),
        E.PAYLOAD_FIELD: ("A field that is used is missing or of a wrong type; its path is named.", "Correct the named field: mostly a detail of host, template or instance."),
        E.VERB_UNKNOWN: ("CloudStack asked for something that an extension cannot do (a Java class name).", "Nothing: this refusal is the right answer."),
        E.VERB_NOT_THERE: ("The verb exists in CloudStack, but not here yet.", "See docs/out-of-scope.md."),
        E.CUSTOM_ACTION_REFUSED: ("A custom action was run; none exists yet.", "See docs/out-of-scope.md."),
        E.POOL_MISSING: ("Neither the host's details nor the resource map name a pool.", "Set `pool` in the host's external details."),
        E.POOL_UNKNOWN: ("The named pool does not exist.", "`rackwright pool list`; correct the host's detail or make the pool."),
        E.IMAGE_MISSING: ("The template names no image, or the image is not imported (any more).", "`rackwright image list`; import it, or set External:image of the template."),
        E.IMAGE_UNKNOWN: ("The pool's map has no such image name.", "`rackwright pool show POOL`; correct the template or the map."),
        E.VLAN_MISSING: ("A NIC comes without a VLAN.", "Use a network with VLAN isolation."),
        E.NETWORKS_TOO_MANY: ("More networks than the server has tenant ports.", "Deploy with fewer networks, or enrol more cards with the role tenant."),
        E.USER_DATA_TOO_LARGE: ("User data of more than 1,048,576 characters of base64.", "Shorten it, or let it fetch the rest."),
        E.USER_DATA_UNREADABLE: ("User data that is no base64.", "Send it encoded."),
        E.SEED_INVALID: ("Addresses, host name or keys that no system could use; all are named.", "Correct what is named."),
        E.USAGE: ("The command line was called wrongly.", "`--help`."),
        E.CONFIG_INVALID: ("The configuration has problems; all are named with their paths.", "Correct them; `rackwright config check`."),
        E.MANIFEST_INVALID: ("The manifest has problems; all are named with their paths.", "Correct them."),
        E.NAME_INVALID: ("A name that is not [a-z0-9][a-z0-9-]{0,62}.", "Choose another."),
        E.FILE_UNREADABLE: ("A file or folder cannot be read or written, or is not what it should be.", "Look at its path, owner and mode."),
        E.INSTANCE_DELETED: ("The instance was deleted; its identifier is never used again.", "Deploy a new instance."),
        E.INSTANCE_UNKNOWN: ("No server was ever given to this instance.", "Deploy it."),
        E.INSTANCE_ENDED: ("The instance's server was given back.", "Deploy a new instance."),
        E.INSTANCE_QUARANTINED: ("The instance's server is quarantined.", "`rackwright server show`: an operator must look at its reason."),
        E.INSTANCE_BUSY: ("The instance is being reserved or installed.", "Ask again."),
        E.NO_CAPACITY: ("No server of the pool is free and fit.", "`rackwright server list --pool POOL`; enrol or release servers."),
        E.SERVER_UNKNOWN: ("There is no server of this name.", "`rackwright server list`."),
        E.SERVER_EXISTS: ("Name, controller address, system uuid or MAC belongs to a server already.", "`rackwright server list`; retire the old one first."),
        E.STATE_CONFLICT: ("The server's state does not allow this.", "docs/states.md tells what leads where."),
        E.OPERATION_UNKNOWN: ("There is no operation of this id.", "`rackwright operation list`."),
        E.OPERATION_ENDED: ("The operation has ended.", "`rackwright operation show ID`."),
        E.ALREADY_INITIALISED: ("Keys or data are there; they are never overwritten.", "Use another folder, or move the old one away."),
        E.IN_USE: ("Something still uses it.", "End what is named, then ask again."),
        E.DEADLINE: ("The time given was over before the end was reached.", "Ask again: the work goes on, or is begun anew."),
        E.SUPERSEDED: ("A newer operation took the server.", "`rackwright operation list`."),
        E.CANCELLED: ("An operator cancelled the operation.", "`rackwright operation show ID`."),
        E.CONTROLLER_UNREACHABLE: ("The controller does not answer in its time.", "Look at its network, power and address."),
        E.CONTROLLER_PASSWORD: ("The controller refuses user or password; it is not asked again with them.", "Give the controller its enrolled password back; or, while no tenant has the server, `rackwright server change NAME --password-file FILE`."),
        E.CONTROLLER_NONSENSE: ("The controller's answer is not of its protocol.", "Look what answers at this address; restart the controller."),
        E.CONTROLLER_REFUSED: ("The controller understood and refused.", "The detail has its words; mostly a setting or licence of the controller."),
        E.CONTROLLER_BUSY: ("The controller asks for patience.", "Ask again in a minute."),
        E.CONTROLLER_CERTIFICATE: ("Not the certificate that was pinned at enrolment.", "Look what answers there. If it was renewed on purpose: while no tenant has the server, `rackwright server change NAME --certificate SHA256`."),
        E.CONTROLLER_BREAKER: ("The controller failed several times in a row and is left alone for a while.", "Repair it; the pause ends by itself."),
        E.CONTROLLER_SYSTEMS: ("The controller speaks for no system, or for several.", "Name the server's own system in the manifest."),
        E.OTHER_MACHINE: ("The controller or the machine behind the address is another one.", "Look at cabling and addresses; nothing was changed."),
        E.POWER_NOT_REACHED: ("The controller accepted the command, the power state did not follow.", "Look at the machine; the server is quarantined."),
        E.BOOT_DEVICE_NOT_SET: ("The controller reports another boot device than was set.", "Look at its firmware and settings."),
        E.PORT_NOT_SET: ("The port does not lead where it was sent.", "Look at the switch; the server stays off."),
        E.PORT_ISOLATION_UNDECLARED: ("Ports are manual, and no isolation is declared.", "Set [ports] isolation in the configuration: what separates tenants."),
        E.AGENT_SILENT: ("The server was switched on and its agent did not call in.", "Read the console (`operation show ID --bundle`): DHCP, firmware settings, cabling."),
        E.AGENT_LOST: ("The agent fell silent in the middle of its work.", "Read the console; look for memory, power and network faults."),
        E.AGENT_FAILED: ("The agent could not do its work; its words are in the detail.", "Read them."),
        E.EPOCH_DIFFERS: ("An order of an older owner reached the agent and was refused.", "Nothing: it is the guard that worked."),
        E.BOOT_TOKEN_TAKEN: ("A boot's one script was asked for twice: a stranger, or a server that started twice.", "Look who asked (address in the detail); then inspect the server."),
        E.TOKEN_REFUSED: ("A token that no open boot or operator has.", "Operators: `rackwright init token`. Agents: the boot is over."),
        E.FACTS_DIFFER: ("The machine or its disks are not those that are remembered.", "Bring back what is named, or retire and enrol the server."),
        E.RAMDISK_MISSING: ("The ramdisk's files are not there.", "`rackwright ramdisk build`."),
        E.RAMDISK_BUILD: ("The ramdisk could not be built.", "The detail has the tool's words; then build again."),
        E.PACKAGE_GONE: ("A pinned package is neither in the store nor in the archive.", "`rackwright ramdisk update`, then build again."),
        E.PROOF_OF_LIFE_MISSING: ("The installed system did not show that it runs.", "Read the console; the image may not boot on this hardware."),
        E.DISK_NOT_FOUND: ("No disk matches.", "`rackwright server show`; correct the root-disk rule."),
        E.DISK_AMBIGUOUS: ("More than one disk matches.", "Name one by serial or WWN."),
        E.DISK_TOO_SMALL: ("The image does not fit on the disk.", "Use a smaller image or a larger disk."),
        E.DISK_SECTOR_SIZE: ("The image is made for another sector size.", "Make one for this disk."),
        E.DISK_FABRIC: ("A disk over a fabric is visible; it may be another machine's.", "Detach it, or list it as excluded by WWN and name."),
        E.DISK_FAILED: ("A disk gave an error.", "Replace it; then retire and enrol the server."),
        E.DISK_FROZEN: ("Firmware has frozen the disk's security since power-on.", "Look for a firmware setting that leaves it open, then `rackwright server provide NAME --erase SERIAL`."),
        E.IMAGE_FORMAT: ("The file is none of raw, raw.gz, raw.xz, raw.zst, qcow2.", "Convert it."),
        E.IMAGE_CLAIMS: ("The image's header claims what may not be (a backing or data file, encryption, a size).", "Make a flat image."),
        E.IMAGE_TOO_LARGE: ("The image is larger than the limit.", "Make it smaller."),
        E.IMAGE_DIGEST: ("A block is not what was imported.", "Look at the blob folder's disk; import the image anew under another name."),
        E.IMAGE_READ_BACK: ("The disk does not read as it was written.", "Replace the disk."),
        E.IMAGE_EXISTS: ("The name belongs to other bytes; a name is never given to others.", "Import under another name."),
        E.IMAGE_BUILD: ("An image could not be built.", "The detail has the tool's words; then build again."),
        E.BLOBS_UNREACHABLE: ("The server of images does not answer.", "Look at nginx and its log; the operation may be asked for again."),
        E.WIPE_METHOD_MISSING: ("A medium has no method that the pool's policy accepts, or is write-protected or removable.", "Change the policy, remove the medium or its protection, or list it as excluded."),
        E.WIPE_FAILED: ("An erase command failed.", "The detail has its words; replace the disk, or clean with another policy."),
        E.WIPE_NOT_PROVEN: ("The erase said success and data were found all the same.", "Do not use the disk again: it lies."),
        E.EVIDENCE_INVALID: ("Evidence that is changed, cut off, forged, or not there at all.", "Compare with an exported head; ask who had access."),
        E.EVIDENCE_UNKNOWN: ("There is no evidence record of this id.", "`rackwright evidence show`."),
        E.SERVICE_DOWN: ("The service does not answer.", "`systemctl status rackwright`; look at its log."),
        E.SERVICE_HELD: ("The service was started on an old or foreign database and does nothing.", "docs/reliability.md, 'Held start'."),
        E.ADDRESS_MISSING: ("The service is to listen at an address that this machine does not have (yet): its card is not up, or the configuration is wrong.", "Nothing where the card comes up late, since systemd starts the service again; else `ip address`, and correct the card or the configuration."),
        E.SERVICE_STOPPING: ("The service is ending.", "Ask again in a few seconds."),
        E.PERMISSION: ("This user, uid or token may not do this.", "Look at the roles in the configuration."),
        E.SECRET_UNREADABLE: ("A stored secret was sealed by another key, for another purpose, or was changed.", "Put the old key back into secrets.key, below the current one; else enrol the server anew."),
        E.ROUTE_UNKNOWN: ("Nothing answers this method at this address.", "Read the API's description at /v1/openapi.json."),
        E.TOO_MANY_REQUESTS: ("One source asks more often than it may.", "Ask more slowly; on the provisioning network, look at who it is."),
        E.DATABASE_BUSY: ("The database was locked for too long.", "Ask again; look for a backup or another program that holds it."),
        E.DATABASE_FULL: ("The disk of the database is full.", "Make room; the work goes on by itself."),
        E.DATABASE_IN_USE: ("Another service runs on this database.", "Stop it first."),
        E.DATABASE_FAILED: ("The database or its marker is damaged, read-only, or of a newer release.", "The detail says which; mend the file system, or restore and recover."),
        E.STEP_UNKNOWN: ("An open operation needs a step that this release lacks.", "Start the release that opened it and let it end."),
        E.OPERATION_LOST: ("An operation was lost in a crash; nobody can tell how far it came.", "The server is quarantined: clean it."),
        E.CANNOT_TELL: ("Nobody can tell whether an act took place.", "The server is quarantined: look at it, then clean it."),
        E.LAB: ("The virtual rack could not be made or ended.", "The text says which part; `./dev lab down`, then again."),
        E.INTERNAL: ("A defect of Rackwright.", "Send the log of this moment."),
    }
)
# fmt: on


def page() -> str:
    """docs/errors.md."""
    lines = [
        "# Error codes",
        "",
        "Generated from provisioner/error_catalogue.py. Every refusal and failure carries one of these",
        "codes. A code has one exit status, whichever command met it: 64 the request must change, 3 the",
        "object is in another state or in other hands, 4 an operator must look, 75 the same call may",
        "succeed later, 1 a defect. A command that followed an operation ends with the status of the",
        "operation's code. The extension's entry point answers 0 or 1.",
        "",
        "| code | exit | cause | what to do |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {code} | {code.kind.exit_code} | {cause} | {remedy} |"
        for code, (cause, remedy) in CATALOGUE.items()
    ]
    return "\n".join(lines) + "\n"
