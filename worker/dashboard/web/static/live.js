// A Live streams what is in view: first the map, and then its changes. Where no stream
// comes through, it requests the map every few seconds.
export class Live {
  #source = null;
  #timer = 0;
  #address = "";
  #failed = 0;

  // on has the functions map, change and state. State is called with "live", "waiting" or
  // "lost", and the reason.
  constructor(on) {
    this.on = on;
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#close();
      else if (this.#address) this.#open();
    });
  }

  // look shows another part of the world, a moment after the last call.
  look(query, soon = 160) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#address = "?" + query;
      this.#failed = 0;
      if (!document.hidden) this.#open();
    }, soon);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #open() {
    this.#close();
    this.on.state("waiting");
    const source = this.#source = new EventSource("/v1/stream" + this.#address);
    const take = (name) => source.addEventListener(name, (e) => {
      if (source !== this.#source) return;
      this.#failed = 0;
      this.on.state("live");
      this.on[name](JSON.parse(e.data));
    });
    take("map");
    take("change");
    source.addEventListener("error", () => {
      if (source !== this.#source) return;
      if (++this.#failed > 1 || source.readyState === EventSource.CLOSED) this.#ask();
      else this.on.state("waiting");
    });
  }

  // ask requests the map without the stream, and tries the stream again later.
  async #ask() {
    this.#close();
    const address = this.#address;
    try {
      const answer = await fetch("/v1/map" + address);
      if (answer.status === 401) location.reload(); // the session has ended: the form to sign in leads back here
      const body = await answer.json();
      if (address !== this.#address) return;
      if (!answer.ok) throw new Error(body.detail || body.title || answer.statusText);
      this.on.map(body);
      this.on.state("lost", "The live connection was lost; the map is reloaded every few seconds.");
    } catch (err) {
      if (address !== this.#address) return;
      this.on.state("lost", err instanceof TypeError ? "The server does not answer; the map shows its last data." : err.message);
    }
    this.#timer = setTimeout(() => { if (!document.hidden) this.#open(); }, Math.min(30e3, 2000 * 2 ** Math.min(4, this.#failed)));
  }
}
