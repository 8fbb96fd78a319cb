"""A device that takes a reading now and then and stores it with Furrow.

Runs unchanged on MicroPython and on CPython. It reads device.conf, and keeps what is not stored yet
in readings.txt, so that a restart loses nothing.
"""

import binascii
import hashlib
import json
import os
import random
import socket
import ssl
import time

LIMIT = 1000  # readings kept while nothing can be sent; above it the oldest are dropped
TIMEOUT = 10  # seconds to wait for a response
LONGEST = 300  # seconds between two attempts, at most
SECOND = 10000000  # in ticks of 100 ns; times are integers, because a board's float has 24 bits

if not hasattr(time, "ticks_ms"):  # CPython
    time.ticks_ms = lambda: int(time.monotonic() * 1000)
    time.ticks_diff = lambda new, old: new - old


def read_sensors():
    """Returns the values of one reading. Put your sensors here."""
    return {"temperature": 20 + random.getrandbits(8) / 64}


def is_urgent(values):
    """Returns whether the workers have to look at this reading in their next run, not only when they expect one."""
    return values["temperature"] > 60


def hmac_sha256(key, message):  # few boards have the module hmac
    key = key + bytes(64 - len(key))
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in key) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in key) + inner).digest()


def escape(text):
    return "".join(c if c.isalpha() or c.isdigit() else "%%%02X" % ord(c) for c in text)


def ticks_of(t):
    """Returns the ticks since 0001-01-01 of a time such as 2026-11-21T15:00:00.123456Z."""
    y, m, d = int(t[0:4]), int(t[5:7]), int(t[8:10])
    if m < 3:
        y, m = y - 1, m + 12
    days = 365 * y + y // 4 - y // 100 + y // 400 + (153 * m - 457) // 5 + d - 307
    seconds = days * 86400 + int(t[11:13]) * 3600 + int(t[14:16]) * 60 + int(t[17:19])
    return seconds * SECOND + int((t[20:-1] + "0000000")[:7])


class Clock:
    """Ticks since the start, and the server's time at the start once that is known.

    The board's own time is only a first guess, for the first proof. Nothing is stored under it."""

    def __init__(self):
        self.last, self.up, self.zero = time.ticks_ms(), 0, None

    def uptime(self):
        now = time.ticks_ms()  # MicroPython's wraps around after 12 days
        self.up += time.ticks_diff(now, self.last) * 10000
        self.last = now
        return self.up

    def unix(self):
        if self.zero is None:  # some boards count from 2000
            return int(time.time()) + (946684800 if time.gmtime(0)[0] == 2000 else 0)
        return (self.zero + self.uptime()) // SECOND - 62135596800


class Buffer:
    """The readings that are not stored yet, oldest first, as lines "ROWKEY JSON".

    A reading's row key is its identity: storage refuses a second row with the same key, so that
    sending a reading again is harmless. The key must never change once it may have been sent. Before
    the time is known a line starts with + and the uptime instead."""

    def __init__(self):
        self.boot, self.count, self.lines = "%08x" % random.getrandbits(32), 0, []
        try:
            with open("readings.txt", "rb") as f:  # a power cut may have cut a character off
                lines = f.read().split(b"\n")[:-1]  # what follows the last line break was cut off
        except OSError:
            lines = []
        for line in lines:
            line = line.decode()
            if line.startswith("+"):
                print("dropped", line.split(" ")[0], "its boot ended before the time was known")
            else:
                self.lines.append(line)
        self.save()

    def save(self):  # a power cut leaves the old file or the new one
        with open("readings.new", "w") as f:
            f.write("".join(line + "\n" for line in self.lines))
            self.sync(f)
        os.rename("readings.new", "readings.txt")

    def sync(self, f):
        f.flush()
        if hasattr(os, "fsync"):
            os.fsync(f.fileno())
        elif hasattr(os, "sync"):
            os.sync()

    def add(self, clock, values):
        if len(self.lines) >= LIMIT:  # several at once, because each save wears the flash
            self.remove(LIMIT // 10, "dropped", "the buffer is full")
        self.count += 1
        name = "%s.%d" % (self.boot, self.count)
        at = "+%d" % clock.uptime() if clock.zero is None else "%019d" % (clock.zero + clock.uptime())
        line = "%s-%s %s" % (at, name, json.dumps(values))
        with open("readings.txt", "a") as f:
            f.write(line + "\n")
            self.sync(f)
        self.lines.append(line)
        print("kept", name)

    def stamp(self, zero):
        """Gives the readings of this boot their keys. They are on disk before any is sent."""
        for i, line in enumerate(self.lines):
            if line.startswith("+"):
                at, rest = line.split("-", 1)
                self.lines[i] = "%019d-%s" % (zero + int(at[1:]), rest)
        self.save()

    def remove(self, n, *why):
        for line in self.lines[:n]:
            print(why[0], line.split(" ")[0], *why[1:])
        self.lines = self.lines[n:]
        self.save()


class Refused(Exception):
    """A request failed. args: a text, and the seconds to wait that the server asks for."""


def received(data):
    """Returns what a socket has read. Some ports read nothing instead of failing when the time is over."""
    if data is None:
        raise OSError("no response in time")
    return data


# A response that is cut off or not the endpoint's own is a failure like any other.
FAILURES = (Refused, OSError, ValueError, KeyError, IndexError)


class Device:
    def __init__(self):
        with open("device.conf") as f:
            self.conf = dict(line.strip().split("=", 1) for line in f if "=" in line)
        self.clock, self.buffer, self.tls = Clock(), Buffer(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.token, self.fails, self.refusals, self.singly, self.urgent = None, 0, 0, 0, False
        if "ca" in self.conf:  # many boards read DER only
            with open(self.conf["ca"]) as f:
                pem = f.read().split("-----")[2].replace("\n", "")
            self.tls.load_verify_locations(cadata=binascii.a2b_base64(pem.encode()))
        elif hasattr(self.tls, "load_default_certs"):
            self.tls.load_default_certs()

    def post(self, url, headers, body=""):
        """Returns the status, the seconds of Retry-After, and the body of the response."""
        scheme, _, host, path = url.split("/", 3)
        name, port = (host.split(":") + ["443" if scheme == "https:" else "80"])[:2]
        info = socket.getaddrinfo(name, int(port), 0, socket.SOCK_STREAM)[0]
        s = socket.socket(info[0], info[1], info[2])
        try:
            s.settimeout(TIMEOUT)
            s.connect(info[-1])
            if scheme == "https:":
                s = self.tls.wrap_socket(s, server_hostname=name)
            body = body.encode()  # its length is that of its bytes
            lines = ["POST /%s HTTP/1.0" % path, "Host: " + host, "Content-Length: %d" % len(body)] + headers
            head = ("\r\n".join(lines) + "\r\n\r\n").encode()
            if hasattr(s, "readline"):  # MicroPython
                s.write(head + body)
                stream = s
            else:
                s.sendall(head + body)
                stream = s.makefile("rb")
            status, wait, length = int((received(stream.readline()).split() + [b"", b"0"])[1]), 0, -1
            while True:
                name, _, value = received(stream.readline()).decode().strip().partition(":")
                if not name:
                    break
                if name.lower() == "retry-after" and value.strip().isdigit():
                    wait = min(int(value), 3600)
                if name.lower() == "content-length":
                    length = int(value)
            text = received(stream.read() if length < 0 else stream.read(length)) if length else b""
            if len(text) < length:
                raise OSError("the response is cut off")
            return status, wait, text
        finally:
            s.close()

    def prove(self):
        """Returns the Authorization header. The key itself never leaves the device."""
        resource = escape(self.conf["enrollment"] + "/registrations/" + self.conf["device"])
        expiry = str(max(self.clock.unix(), 0) + 600)
        signature = hmac_sha256(binascii.a2b_base64(self.conf["key"].encode()), (resource + "\n" + expiry).encode())
        text = escape(binascii.b2a_base64(signature).decode().strip())
        return "Authorization: SharedAccessSignature sr=%s&sig=%s&se=%s" % (resource, text, expiry)

    def get_token(self, body=""):
        url = "%s/v1/devices/%s/token" % (self.conf["endpoint"], self.conf["device"])
        for _ in range(2):
            sent = self.clock.uptime()
            status, wait, text = self.post(url, [self.prove()], body)
            middle = (sent + self.clock.uptime()) // 2
            try:
                answer = dict(json.loads(text))
            except (ValueError, TypeError):  # from a proxy
                answer = {}
            late = answer.get("code") in ("proof-expired", "proof-too-long")
            if status == 200 or late:  # our clock is wrong: the next proof uses the server's
                self.clock.zero = ticks_of(answer["serverTime"]) - middle
                self.buffer.stamp(self.clock.zero)
            if not late:
                break
        if status != 200:
            raise Refused("no token: %d %s" % (status, answer.get("code")), wait)
        renew = ticks_of(answer["renewAfter"]) - self.clock.zero
        left = ticks_of(answer["expires"]) - self.clock.zero - renew
        # A random time, so that a fleet that booted together does not renew together.
        answer["renew"] = renew + left * random.getrandbits(10) // 2048
        answer["end"] = renew + left
        self.token = answer
        print("token until", answer["expires"])

    def insert(self, lines):
        """Inserts rows, several of them in one transaction. Returns the status, Retry-After, and whether storage
        refuses them: a proxy has pages of its own, and knows no row."""
        rows = []
        for line in lines:
            key, values = line.split(" ", 1)
            rows.append('{"PartitionKey":"%s","RowKey":"%s",%s' % (self.token["partitionKey"], key, values[1:]))
        url, sas = self.token["url"], "?" + self.token["sas"]
        if len(rows) == 1:
            headers = ["Content-Type: application/json", "Prefer: return-no-content"]
            headers.append("Accept: application/json;odata=minimalmetadata")
            status, wait, text = self.post(url + sas, headers, rows[0])
            return status, wait, b'"odata.error"' in text
        body = "--batch_a\r\nContent-Type: multipart/mixed; boundary=changeset_a\r\n\r\n"
        for row in rows:
            body += "--changeset_a\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            body += "POST %s HTTP/1.1\r\nContent-Type: application/json\r\n" % url
            body += "Accept: application/json;odata=minimalmetadata\r\nPrefer: return-no-content\r\n"
            body += "DataServiceVersion: 3.0\r\n\r\n" + row + "\r\n"
        body += "--changeset_a--\r\n--batch_a--\r\n"
        headers = ["Content-Type: multipart/mixed; boundary=batch_a", "DataServiceVersion: 3.0"]
        status, wait, text = self.post(url.rsplit("/", 1)[0] + "/$batch" + sas, headers, body)
        if status == 202:  # the real status is that of the response inside
            status = int((text + b"HTTP/1.1 0 ").split(b"HTTP/1.1 ", 1)[1][:3])
        return status, wait, b'"odata.error"' in text

    def deliver(self):
        """Sends the oldest readings. Returns whether to go on at once."""
        lines = self.buffer.lines
        n = 1 if self.singly > 0 else min(len(lines), self.token["batch"], 100)
        for line in lines[:n]:
            if not self.token["earliestRowKey"] <= line.split(" ")[0] <= self.token["latestRowKey"]:
                n = lines.index(line)
                break
        if n == 0:  # too old, for example: no token will ever admit it
            self.buffer.remove(1, "dropped", "the token does not admit its time")
            return True
        status, wait, own = self.insert(lines[:n])
        if status in (201, 204) or (status == 409 and n == 1 and own):  # 409: an earlier attempt stored it
            self.buffer.remove(n, "stored")
            self.fails, self.refusals, self.singly = 0, 0, max(self.singly - n, 0)
        elif status in (400, 409, 413) and n > 1:  # because of one row: find it
            self.singly = n
        elif (status == 400 and own) or status == 413:
            self.buffer.remove(1, "dropped", "storage refuses it: %d" % status)
        elif status in (401, 403, 404) and self.refusals == 0:  # another device was revoked, perhaps
            self.token, self.refusals = None, 1
        else:
            if status in (401, 403, 404):
                self.token = None
            raise Refused("not stored: %d" % status, wait)
        return bool(self.buffer.lines)

    def step(self):
        """Does what is due. Returns the seconds until the next attempt."""
        try:
            now = self.clock.uptime()
            if self.token is None or now > self.token["renew"]:
                try:
                    self.get_token()
                except FAILURES:
                    if self.token is None or now > self.token["end"]:
                        raise
                    self.token["renew"] = now + 60 * SECOND  # it is good for a while
            if self.buffer.lines and self.deliver():
                return 0
            if self.urgent:  # what is urgent is stored: have the next run look at this device
                self.get_token('{"ring": true}')
                self.urgent, self.fails = False, 0
            return self.token["sendEvery"] if self.token else 0
        except FAILURES as e:
            # A random part keeps devices that failed together from coming back together. A device
            # that is revoked asks less and less, and sends what it kept once it is restored.
            wait = e.args[1] if isinstance(e, Refused) else 0
            pause = min(1 << min(self.fails, 9), LONGEST)
            self.fails += 1
            print("failed", repr(e))
            return wait + pause * (512 + random.getrandbits(9)) / 1024

    def run(self):
        every, reading, attempt = int(self.conf.get("every", "60")) * SECOND, 0, 0
        while True:
            now = self.clock.uptime()
            if now >= reading:
                values = read_sensors()
                self.buffer.add(self.clock, values)
                if is_urgent(values):
                    self.urgent = True
                    if self.fails == 0:  # after a failure it waits all the same
                        attempt = now
                reading = max(reading + every, now)
            if now >= attempt:
                attempt = self.clock.uptime() + int(self.step() * SECOND)
            wait = min(reading, attempt) - self.clock.uptime()
            if wait > 0:
                time.sleep(wait / SECOND)


Device().run()
