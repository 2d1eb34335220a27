"""Two replicas behind a proxy: what works where a reader stays on one, and what breaks where nobody does."""

import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from http.cookiejar import CookieJar

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import WebSocketException

from benchmarks.wire import socket_to, until_over
from running import start_app
from tests.proxy import COOKIE, proxy

TEXT = "A sentence that outlives the server it was typed on."
BOUNDARY = "headscope"
CSV = b"a,b\n1,2\n"


class Browser:
    """One reader: cookies, a page over a web socket, downloads and uploads, all by the proxy's address."""

    def __init__(self, url):
        self.url, self.jar = url, CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self.session, self.asked = "", ""

    def cookies(self):
        return {one.name: one.value for one in self.jar}

    def fetch(self, path, data=None, method="GET", **headers):
        asked = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)  # noqa: S310
        try:
            with self.opener.open(asked, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read()

    def page(self, page="", query="", keep=None):
        """Open a page and return its elements; `keep(stream)` is done before the socket is closed."""
        asked = BackMsg()
        asked.rerun_script.query_string, asked.rerun_script.page_name = query, page
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies().items())
        elements = []
        with socket_to(self.url, additional_headers={"Cookie": cookie}) as stream:
            stream.send(asked.SerializeToString())
            for answer in until_over(stream):
                if answer.WhichOneof("type") == "new_session":
                    self.session = answer.new_session.initialize.session_id
                elements.append(answer.delta.new_element)
            return elements if keep is None else keep(elements)

    def upload(self):
        """The answer to a file that is brought while the page is open."""
        if not self.cookies().get("_streamlit_xsrf"):
            self.fetch("/_stcore/health")  # gives the token of the form
        token = self.cookies().get("_streamlit_xsrf", "")
        body = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="f.csv"\r\n\r\n'.encode()
        body += CSV + f"\r\n--{BOUNDARY}--\r\n".encode()
        return self.fetch(
            f"/_stcore/upload_file/{self.session}/one",
            body,
            "PUT",
            **{"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "X-Xsrftoken": token},
        )[0]

    def files(self):
        """What becomes of an upload and of a download, on one open page that offers files."""

        def both(elements):
            links = [
                one.download_button.url for one in elements if one.WhichOneof("type") == "download_button"
            ]
            return [self.upload() for _ in range(4)], [self.fetch(link) for link in links * 2 if link]

        return self.page("learn", "step=code", both)


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replicas")
    two = [start_app(folder / f"{i}.log", known=True, HEADSCOPE_SOCKETS_PER_ADDRESS="3") for i in range(2)]
    yield two
    for one in two:
        one.stop()


@pytest.fixture(scope="module")
def ports(replicas):
    return [one.port for one in replicas]


@pytest.mark.long
def test_where_nobody_is_kept_on_one_replica_files_are_lost_and_sentences_are_not(ports):
    # The first test here: a file that one replica offered stays there for a while, by what is in it.
    with proxy(ports, sticky=False) as url:
        reader = Browser(url)
        put, taken = reader.files()
        assert 400 in put, "the other replica does not know this reader"
        assert 404 in {status for status, _ in taken}
        for _ in range(2):
            boxes = [e.text_input.value for e in reader.page(query="text=" + TEXT.replace(" ", "+"))]
            assert TEXT in boxes


@pytest.mark.long
def test_a_reader_who_is_kept_on_one_replica_brings_files_and_takes_files_away(ports):
    with proxy(ports, sticky=True) as url:
        for reader in (Browser(url), Browser(url)):
            assert reader.fetch("/")[0] == 200
            put, taken = reader.files()
            assert set(put) == {204}
            assert taken
            assert {status for status, _ in taken} == {200}
            assert all(b"import torch" in content for _, content in taken)


@pytest.mark.long
def test_readers_behind_a_proxy_have_addresses_of_their_own(ports):
    def opened(url, name, n):
        """How many of n sockets of one address are let in at once."""
        let_in = 0
        with ExitStack() as streams, suppress(WebSocketException):
            for _ in range(n):
                one = socket_to(url, additional_headers={"X-Forwarded-For": name})
                streams.enter_context(one)
                let_in += 1
        return let_in

    with proxy(ports[:1], sticky=True) as url:
        assert opened(url, "192.0.2.1", 5) == 3
        assert opened(url, "192.0.2.2", 3) == 3


@pytest.mark.long
def test_who_loses_the_replica_goes_on_with_the_other(replicas, ports):
    with proxy(ports, sticky=True) as url:
        reader = Browser(url)
        reader.fetch("/")
        first = int(reader.cookies()[COOKIE])
        next(one for one in replicas if one.port == first).stop()
        boxes = [e.text_input.value for e in reader.page(query="text=" + TEXT.replace(" ", "+"))]
        assert TEXT in boxes
        reader.fetch("/")
        assert int(reader.cookies()[COOKIE]) in set(ports) - {first}
        put, taken = reader.files()
        assert set(put) == {204}
        assert {status for status, _ in taken} == {200}
