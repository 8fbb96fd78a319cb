import * as earth from "./earth.js";

const side = 256, most = 19, kept = 400;

// Tiles draw a street map from a server of tiles in the Web Mercator projection.
export class Tiles {
  #images = new Map(); // by address

  // loaded is called when another tile can be drawn.
  constructor(template, loaded) { [this.template, this.loaded] = [template, loaded]; }

  draw(c, view) {
    const z = Math.max(0, Math.min(most, Math.round(view.zoom))), n = 2 ** z, size = side * 2 ** (view.zoom - z);
    const f = view.frame(), west = f.x + (-180 - f.straight) * earth.east(0) * f.scale, top = f.y - earth.height / 2 * f.scale;
    for (let y = Math.max(0, Math.floor(-top / size)); y < n && top + y * size < view.height; y++) {
      for (let x = Math.floor(-west / size); west + x * size < view.width; x++) {
        const image = this.#image(z, ((x % n) + n) % n, y);
        if (image.complete && image.naturalWidth) c.drawImage(image, west + x * size, top + y * size, size + 0.5, size + 0.5);
      }
    }
  }

  #image(z, x, y) {
    const address = this.template.replace("{z}", z).replace("{x}", x).replace("{y}", y);
    let image = this.#images.get(address);
    if (!image) {
      image = new Image();
      image.referrerPolicy = "origin"; // public servers of tiles refuse requests without one
      image.onload = this.loaded;
      image.src = address;
      for (const old of this.#images.keys()) if (this.#images.size > kept) this.#images.delete(old); else break;
    }
    this.#images.delete(address);
    this.#images.set(address, image); // the newest last
    return image;
  }
}
