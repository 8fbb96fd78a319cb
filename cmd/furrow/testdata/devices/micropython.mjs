// Runs a program on MicroPython's port to WebAssembly: node micropython.mjs PORT.mjs PROGRAM.py. That port has no
// sockets, TLS or files of the host; they are made here, and TLS is openssl's.

import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { pathToFileURL } from "node:url";

const [port, program] = process.argv.slice(2);
const { loadMicroPython } = await import(pathToFileURL(port));
const python = await loadMicroPython({ heapsize: 1 << 20, linebuffer: true, stdout: (line) => fs.writeSync(1, line + "\n") });
const wait = new Int32Array(new SharedArrayBuffer(4));

// As some ports do, it has nothing, and not an error, when a server is silent.
const answered = (done) => (done.error && !done.stdout?.length ? null : done.stdout.toString());

globalThis.host = {
  behind: Number(process.env.CLOCK_BEHIND),
  exists: (path) => fs.existsSync(path),
  read: (path) => fs.readFileSync(path, "utf8"),
  write: (path, text, flag) => fs.writeFileSync(path, text, { flag }),
  rename: (from, to) => fs.renameSync(from, to),
  sleep: (seconds) => void Atomics.wait(wait, 0, 0, seconds * 1000),
  exchange: (name, port, ca, input) => {
    if (!ca) {
      const dial = `process.stdin.pipe(require("net").connect(${port}, "${name}"), { end: false }).pipe(process.stdout)`;
      return answered(spawnSync(process.execPath, ["-e", dial], { input, timeout: 10_000, stdio: ["pipe", "pipe", "ignore"] }));
    }
    fs.writeFileSync("trusted.pem", `-----BEGIN CERTIFICATE-----\n${(ca.match(/.{1,64}/g) ?? []).join("\n")}\n-----END CERTIFICATE-----\n`);
    const args = ["s_client", "-quiet", "-connect", `${name}:${port}`, "-CAfile", "trusted.pem", "-verify_return_error",
      name.match(/^[0-9.]+$/) ? "-verify_ip" : "-verify_hostname", name];
    return answered(spawnSync("openssl", args, { input, timeout: 10_000, stdio: ["pipe", "pipe", "ignore"] }));
  },
};

const shims = `
import binascii, builtins, sys, time
from js import host

class File:
    def __init__(self, path, mode="r"):
        if mode[0] == "r" and not host.exists(path):
            raise OSError(2)
        self.path, self.mode, self.at = path, mode, 0
        if mode == "w":
            host.write(path, "", "w")
    def read(self):
        text = host.read(self.path)
        return text.encode() if "b" in self.mode else text
    def write(self, text):
        host.write(self.path, text, "a")
    def flush(self):
        pass
    def __iter__(self):
        return iter(self.read().split("\\n"))
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass

class Module:
    def __init__(self, **members):
        for name in members:
            setattr(self, name, members[name])

class Socket:
    def __init__(self, *kind):
        self.sent, self.ca = b"", ""
    def settimeout(self, seconds):
        pass
    def connect(self, address):
        self.address = address
    def write(self, data):
        self.sent += data
    def receive(self):
        if self.sent:
            got = host.exchange(self.address[0], self.address[1], self.ca, self.sent.decode())
            self.sent, self.got = b"", got and got.encode()
            if got == "":
                raise OSError(104)
    def readline(self):
        self.receive()
        return self.got and self.read(self.got.find(b"\\n") + 1)
    def read(self, n=-1):
        n = len(self.got) if n < 0 else n
        data, self.got = self.got[:n], self.got[n:]
        return data
    def close(self):
        pass

class Context:
    def __init__(self, protocol):
        self.ca = ""
    def load_verify_locations(self, cafile=None, cadata=None):
        self.ca = binascii.b2a_base64(cadata).decode()
    def wrap_socket(self, s, server_hostname=None):
        s.ca = self.ca
        return s

real = time
builtins.open = File
sys.modules["os"] = Module(rename=host.rename, sync=lambda: None)
sys.modules["socket"] = Module(socket=Socket, SOCK_STREAM=1, getaddrinfo=lambda host, port, *kind: [(2, 1, 6, "", (host, port))])
sys.modules["ssl"] = Module(SSLContext=Context, PROTOCOL_TLS_CLIENT=0)
sys.modules["time"] = Module(sleep=host.sleep, ticks_ms=real.ticks_ms, ticks_diff=real.ticks_diff, gmtime=real.gmtime,
    time=lambda: int(real.time()) - host.behind)
`;
try {
  python.runPython(shims);
  python.runPython(fs.readFileSync(program, "utf8"));
} catch (error) {
  console.error(String(error.message).slice(-2000)); // uncaught, it would print all of the port
  process.exit(1);
}
