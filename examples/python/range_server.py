"""A small web server that sends byte ranges of files and counts the bytes sent, for remote_regions.py."""

import functools
import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@functools.cache
def version(content):
    """A hash of the content, as an ETag."""
    return f'"{hashlib.sha256(content).hexdigest()}"'


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD, with or without `Range: bytes=FIRST-LAST`."""

    protocol_version = "HTTP/1.1"  # connections stay open

    def do_GET(self):
        """Sends a file or a range of it."""
        content = self.server.files.get(self.path.lstrip("/"))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if content is None or (wanted and int(wanted[1]) >= len(content)):
            self.answer(404 if content is None else 416, b"", {})
            return
        about = {"Accept-Ranges": "bytes", "ETag": version(content)}
        if wanted is None:
            self.answer(200, content, about)
            return
        first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
        about["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self.answer(206, content[first : last + 1], about, (first, last))

    def answer(self, status, content, about, sent=(None, None)):
        """Sends a status, headers and, unless the request is HEAD, the content."""
        with_content = self.command != "HEAD"
        self.server.count((self.command, *sent), len(content) if with_content else 0)  # before the client has the answer
        self.send_response(status)
        for name, value in {**about, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if with_content:
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, *_):
        """Requests are not logged."""


class RangeServer(ThreadingHTTPServer):
    """Serves `files`, a dict of bytes by name, at `url` on this machine while a `with` block lasts.

    Attributes:
        bytes_sent: bytes of file contents sent, without headers.
        requests: a list of (method, first byte, last byte); the last two are None without a range.
    """

    handler = Handler
    daemon_threads, block_on_close = True, False

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), self.handler)  # any free port
        self.files = files
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        """Resets the counters."""
        with self.lock:
            self.bytes_sent, self.requests = 0, []

    def count(self, request, size):
        """Counts a request and the bytes of its answer."""
        with self.lock:
            self.requests.append(request)
            self.bytes_sent += size

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
