"""Meaning and remedy of errors of fsspec file systems.

The exceptions come from aiohttp, botocore, s3fs and others. They are recognised by name, so no package is imported.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

from h5stz.sources.file_objects import shortened

#: User, password and query of addresses in messages of others.
_SECRETS = re.compile(r"(https?://)(?:[^/\s'\"]*@)?([^\s'\"?]*)(?:\?[^\s'\"]*)?")

_NOT_THERE = "there is no such file: check the address"
_LATER = "try again later"
_NETWORK = "check the address, the network and its proxies"
#: Meanings of exceptions, by names of their classes or of classes that they are made of; the first that fits counts.
_NAMES = (
    (
        ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "DefaultCredentialsError"),
        "no credentials are found: {anonymous}; else set them, such as AWS_PROFILE in the environment",
    ),
    (("ProfileNotFound",), "there is no such profile of credentials: check AWS_PROFILE in the environment"),
    (
        ("ClientConnectorCertificateError", "SSLCertVerificationError"),
        "the certificate of the server is not accepted: check the address and the clock of this machine; SSL_CERT_FILE in the "
        "environment names a file with other certificates to accept",
    ),
    (("ClientSSLError", "SSLError"), "the server speaks no TLS there: check the address, is it http:// rather than https://?"),
    (("ClientConnectorDNSError", "gaierror"), f"there is no host of this name, or no name service is reached: {_NETWORK}"),
    (
        ("ServerTimeoutError", "TimeoutError", "ReadTimeoutError", "ConnectTimeoutError", "ConnectionTimeoutError"),
        f"no answer came in time: {_LATER}, or check the network and its proxies",
    ),
    (
        ("EndpointConnectionError", "ClientConnectorError", "ClientProxyConnectionError"),
        f"no server can be reached: {_NETWORK}",
    ),
    (("InvalidURL", "InvalidUrlClientError", "ParamValidationError"), "the address is invalid: check it"),
    (("ServerDisconnectedError", "ClientPayloadError", "ClientOSError"), f"the connection was cut off: {_LATER}"),
    (("BadZipFile", "BadGzipFile", "LZMAError"), "the file is not the kind of archive that the address states: check the file"),
    (("TooManyRedirects",), "the server redirects in a circle: open it in a browser to see why"),
)
#: Meanings of numbers of the system, and of status codes of HTTP.
_NUMBERS = {
    errno.ECONNREFUSED: f"no server listens there (connection refused): {_NETWORK}",
    errno.ECONNRESET: f"the connection was cut off: {_LATER}",
    errno.ENETUNREACH: f"the network is unreachable: {_NETWORK}",
    errno.EHOSTUNREACH: f"the host is unreachable: {_NETWORK}",
    errno.ETIMEDOUT: f"no answer came in time: {_LATER}, or check the network and its proxies",
}
_STATUS = {
    404: "there is no such file (404): check the address",
    410: "the file is gone (410): ask who served it",
    401: "the server requires authentication (401): {login}",
    403: "the server refuses access (403): {login}{signed}",
    407: "a proxy requires authentication (407): set it in the environment, such as https_proxy=http://USER:PASSWORD@HOST:PORT",
    408: f"the server timed out (408): {_LATER}",
    416: "the server does not have these bytes (416): the file may have changed, open it again",
    429: f"the server receives too many requests (429): {_LATER}, or with fewer threads and processes",
}


def meaning(error: BaseException, protocol: str) -> str:
    """The meaning of an error and the remedy, in a line. For unknown errors, their own text.

    Args:
        error: the error of a file system.
        protocol: protocol of the address, such as "https" or "s3".
    """
    words = {"login": _login(protocol), "anonymous": _anonymous(protocol)}
    words["signed"] = ". A signed address may have expired: get a new one" if protocol in ("http", "https") else ""
    chain = list(_chain(error))
    for each in chain:
        status = _status(each)
        if status in _STATUS:
            return _STATUS[status].format(**words)
        if status is not None and status >= 500:
            return f"the server failed ({status}{_reason(each)}): {_LATER}"
        if status is not None and 300 <= status < 500:
            return f"the server refuses that ({status}{_reason(each)}): check the address"
    for each in chain:
        if isinstance(each, TypeError) and "keyword argument" in str(each):
            return f"its file system does not accept these storage_options ({each}): check their names"
        number = getattr(getattr(each, "os_error", each), "errno", None)
        names = {kind.__name__ for kind in (*type(each).__mro__, *type(getattr(each, "os_error", None)).__mro__)}
        if number in _NUMBERS:
            return _NUMBERS[number]
        for known, text in _NAMES:
            if names & set(known):
                return text.format(**words)
    if isinstance(error, FileNotFoundError):
        return _NOT_THERE
    if isinstance(error, PermissionError):
        return f"access is refused ({without_secrets(str(error))}): {words['login']}"
    return without_secrets(shortened(chain[-1] if isinstance(error, FileNotFoundError) else error))


def is_not_there(error: BaseException) -> bool:
    """True if an error means that the file does not exist."""
    found = [status for each in _chain(error) if (status := _status(each)) is not None]
    return found[0] in (404, 410) if found else isinstance(error, FileNotFoundError) and error.__cause__ is None


def is_about_tls(error: BaseException) -> bool:
    """True for TLS errors between the server and this machine, which are permanent."""
    return any(kind.__name__ in ("ClientSSLError", "SSLError", "CertificateError") for kind in type(error).__mro__)


def without_secrets(text: str) -> str:
    """A message of another package without user, password and query of addresses."""
    return _SECRETS.sub(r"\1\2", text)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        inner = getattr(cause, "kwargs", None)  # of botocore: what it caught
        found = inner.get("error") if isinstance(inner, dict) else None
        cause = cause.__cause__ or (found if isinstance(found, BaseException) else None)


def _status(error: BaseException) -> int | None:
    """The HTTP status of an error."""
    response = getattr(error, "response", None)
    told = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    number = getattr(error, "status", told)
    if number is None:
        number = getattr(error, "code", None)  # of gcsfs; aiohttp warns of its own
    return number if isinstance(number, int) and 300 <= number < 600 else None


def _reason(error: BaseException) -> str:
    said = getattr(error, "message", None)
    return f" {said}" if isinstance(said, str) and said else ""


def _login(protocol: str) -> str:
    """The remedy for a server that requires authentication."""
    if protocol in ("http", "https"):
        headers = '{"headers": {"Authorization": "Bearer TOKEN"}}'
        return (
            f"give credentials, such as storage_options={headers}, or to a command FSSPEC_HTTP='{headers}' in the environment"
        )
    if protocol in _ANONYMOUS:
        return f"check bucket, name and credentials; {_anonymous(protocol)}"
    return "give the credentials that its package needs, in storage_options="


#: Of object stores: the option of those who want no credentials, in Python and in JSON.
_ANONYMOUS = {name: ('{"anon": True}', "FSSPEC_S3", '{"anon": true}') for name in ("s3", "s3a")}
_ANONYMOUS |= {name: ('{"token": "anon"}', "FSSPEC_GCS", '{"token": "anon"}') for name in ("gs", "gcs")}


def _anonymous(protocol: str) -> str:
    python, variable, json = _ANONYMOUS.get(protocol, _ANONYMOUS["s3"])
    return f"of public data, give storage_options={python}, or to a command {variable}='{json}' in the environment"
