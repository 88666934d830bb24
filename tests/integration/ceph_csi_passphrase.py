#!/usr/bin/env python3
"""What ceph-csi's KMS "metadata" writes into an image's metadata, by an implementation that
shares nothing with the daemon's: hashlib's scrypt and cryptography's AES-GCM.

  ceph_csi_passphrase.py wrap SECRET_FILE VOLUME_ID PASSPHRASE_FILE   prints the metadata
  ceph_csi_passphrase.py unwrap SECRET_FILE VOLUME_ID METADATA_FILE   prints the passphrase

Nothing printed ends with a line end.
"""
import base64
import hashlib
import json
import os
import pathlib
import sys

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def key_of(secret, volume):
    return hashlib.scrypt(secret, salt=volume.encode(), n=32768, r=8, p=1, maxmem=64 << 20, dklen=32)


def main():
    action, secret, volume, file = sys.argv[1:]
    cipher = AESGCM(key_of(pathlib.Path(secret).read_bytes(), volume))
    content = pathlib.Path(file).read_bytes()
    if action == "wrap":
        nonce = os.urandom(12)
        parts = {"dek": cipher.encrypt(nonce, content, None), "nonce": nonce}
        text = json.dumps({name: base64.b64encode(part).decode() for name, part in parts.items()},
                          separators=(",", ":"))
    else:
        stored = json.loads(content)
        if list(stored) != ["dek", "nonce"] or json.dumps(stored, separators=(",", ":")).encode() != content:
            sys.exit("not byte for byte as Go's encoder writes it")
        dek, nonce = (base64.b64decode(stored[name], validate=True) for name in ("dek", "nonce"))
        text = cipher.decrypt(nonce, dek, None).decode()
    sys.stdout.write(text)


main()
