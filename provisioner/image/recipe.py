"""What an image is built from, as a digest: the same recipe, the same image, for caches."""

import hashlib
from importlib import resources
from importlib.resources.abc import Traversable


def recipe_digest() -> str:
    """16 hex digits over all sources and texts of this package."""
    digest = hashlib.sha256()
    _add(digest, resources.files("provisioner.image"), "")
    return digest.hexdigest()[:16]


def _add(digest: "hashlib._Hash", folder: Traversable, path: str) -> None:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir() and each.name != "__pycache__":
            _add(digest, each, f"{path}{each.name}/")
        elif each.name.endswith((".py", ".sh", ".txt", ".yaml")):
            digest.update(f"{path}{each.name}\0".encode() + each.read_bytes() + b"\0")
