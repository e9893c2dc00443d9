"""Servers of files on this machine that count what they send: over HTTP, and with the API of S3 (moto)."""

import importlib.util
import io
import threading
from contextlib import contextmanager

import h5py
import numpy as np

import h5stz
from support.paths import EXAMPLES
from support.region_files import smooth

EXAMPLE = importlib.util.spec_from_file_location("range_server", EXAMPLES / "python/range_server.py")
range_server = importlib.util.module_from_spec(EXAMPLE)
EXAMPLE.loader.exec_module(range_server)


def written(offset=0, **options):
    """A file (bytes) with a rough volume of 128**3, in one chunk and in eight."""
    rough = np.random.default_rng(3).normal(offset, 0.01, (128, 128, 128)).astype("f4")
    field = smooth(rough.shape) / 100 + rough
    file = io.BytesIO()
    with h5py.File(file, "w", **options) as target:
        for name, extent in (("one", 128), ("chunks", 64)):
            target.create_dataset(name, data=field, chunks=3 * (extent,), **h5stz.STZ(absolute=1e-3, block="region"))
    return file.getvalue()


class Handler(range_server.Handler):
    """A handler whose answers the test may change: `server.fault(handler, status, content, about)` gives them."""

    def answer(self, status, content, about, sent=(None, None)):
        """Answers otherwise if the test says so."""
        if self.server.fault is not None:
            status, content, about = self.server.fault(self, status, content, about)
        super().answer(status, content, about, sent)


class Server(range_server.RangeServer):
    """A server that can be told to go wrong."""

    handler, fault = Handler, None

    def handle_error(self, *_):
        """Says nothing: it was asked for."""


def cut_off(handler, status, content, about):
    """Half of what is promised is sent, and the connection ends."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    raise ConnectionAbortedError


class Counted:
    """A WSGI application in front of another one.

    Attributes:
        requests: a list of (method, path, range or None).
        bytes_sent: bytes of the answers to GET.
    """

    def __init__(self, application):
        self._application = application
        self._lock = threading.Lock()
        self.reset()

    def reset(self):
        """Resets the counters."""
        self.requests, self.bytes_sent = [], 0

    def __call__(self, environment, start):
        """Counts a request and what is answered."""
        answer = list(self._application(environment, start))
        with self._lock:
            method = environment["REQUEST_METHOD"]
            self.requests.append((method, environment["PATH_INFO"], environment.get("HTTP_RANGE")))
            self.bytes_sent += sum(map(len, answer)) if method == "GET" else 0
        return answer


@contextmanager
def s3_server():
    """Serves the API of S3 by moto; gives (Counted, storage_options for s3fs)."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    counted = Counted(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, counted, threaded=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.port}"
        yield counted, {"key": "nobody", "secret": "nothing", "endpoint_url": url}
    finally:
        server.shutdown()
        server.server_close()
