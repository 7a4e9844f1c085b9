"""Certificates as docs/guide/security.md makes them, and the configuration of a server that uses them.

A folder gets `ca.crt`, `node.pem` (key and certificate, for 127.0.0.1), `client.crt` and `client.key`. The client's identity is IDENTITY.
"""

import pathlib
import subprocess

IDENTITY = "spiffe://example.com/client"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def make_certificates(folder):
    folder = pathlib.Path(folder)

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *KEY, "-days", "2", "-subj", "/CN=clients of a test", "-keyout", "ca.key", "-out", "ca.crt")
    for name, usage, identity in (("node", "serverAuth", ""), ("client", "clientAuth", f",URI:{IDENTITY}")):
        openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / f"{name}.ext").write_text(f"subjectAltName=IP:127.0.0.1,DNS:localhost{identity}\nextendedKeyUsage={usage}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", f"{name}.ext", "-out", f"{name}.crt")
    (folder / "node.pem").write_text((folder / "node.key").read_text() + (folder / "node.crt").read_text())


def authenticator(name):
    """Lines of a configuration by which clients log in by their certificate's identity."""
    return f"authenticator:\n  class_name: {name}\n  parameters:\n    validator_class_name: org.apache.cassandra.auth.SpiffeCertificateValidator\n"


def options_of(folder, *lines, before=""):
    """Arguments of a server that speaks TLS alone, with these lines among its options too. `before` comes before them."""
    folder = pathlib.Path(folder)
    lines = ["enabled: true", f"keystore: {folder / 'node.pem'}", f"truststore: {folder / 'ca.crt'}", *lines]
    file = folder / "helenus.yaml"
    file.write_text(before + "client_encryption_options:\n" + "".join(f"  {line}\n" for line in lines))
    return ("--config", str(file))
