import * as earth from "./earth.js";

// A View is the part of the world on the screen: the place in its middle, and the zoom.
// The whole world is 2^(8+zoom) pixels wide.
//
// From afar, the straight meridian is that of Greenwich. Close up, it is that of the middle,
// so that nothing is slanted there.
export class View {
  lon = 0;
  lat = 12;
  zoom = 1;
  width = 1;
  height = 1;

  static closest = 19;

  resize(width, height) {
    [this.width, this.height] = [Math.max(1, width), Math.max(1, height)];
    this.settle();
  }

  // farthest is the zoom that fits the whole world.
  get farthest() {
    return Math.log2(Math.min(this.width / earth.width, this.height / earth.height) * 0.96 * earth.width / 256);
  }

  // scale is the number of pixels in a unit of the projection.
  get scale() { return 256 * 2 ** this.zoom / earth.width; }

  get follows() {
    const t = Math.max(0, Math.min(1, (this.zoom - this.farthest - 0.3) / 1.7));
    return t * t * (3 - 2 * t);
  }

  get straight() { return this.lon * this.follows; }

  // frame computes what project needs, once for many places.
  frame() {
    const straight = this.straight, scale = this.scale;
    return {
      straight, scale,
      x: this.width / 2 - (this.lon - straight) * earth.east(this.lat) * scale,
      y: this.height / 2 + earth.north(this.lat) * scale,
    };
  }

  project(lon, lat, f = this.frame()) {
    return [f.x + near(lon - f.straight) * earth.east(lat) * f.scale, f.y - earth.north(lat) * f.scale];
  }

  // place returns the place at a point of the screen.
  place(x, y) {
    const f = this.frame();
    const lat = earth.latitude((f.y - y) / f.scale);
    return [f.straight + (x - f.x) / (earth.east(lat) * f.scale), lat];
  }

  // put moves the view so that a place from place() is at a point of the screen, as
  // drags and pinches do.
  put([lon, lat], x, y) {
    const d = (x - this.width / 2) / this.scale;
    this.lat = earth.latitude(earth.north(lat) + (y - this.height / 2) / this.scale);
    const k = earth.east(lat), f = this.follows;
    this.lon = (lon * k - d) / (f * k + (1 - f) * earth.east(this.lat));
    this.settle();
  }

  // settle keeps the view on the world.
  settle() {
    this.zoom = Math.max(this.farthest, Math.min(View.closest, this.zoom));
    const most = Math.max(0, earth.height / 2 - this.height / 2 / this.scale * 0.9);
    this.lat = earth.latitude(Math.max(-most, Math.min(most, earth.north(this.lat))));
    if (this.follows < 1) {
      const sides = Math.max(0, 180 - this.width / 2 / (earth.east(this.lat) * this.scale) * 0.9);
      const bound = sides + (180 - sides) * this.follows;
      this.lon = Math.max(-bound, Math.min(bound, this.lon));
    }
    this.lon = near(this.lon);
  }

  // span returns the west, south, east and north of the screen. As in place, longitudes
  // continue beyond 180.
  span() {
    let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i <= 8; i++) {
      for (const [x, y] of [[i / 8, 0], [i / 8, 1], [0, i / 8], [1, i / 8]]) {
        const [lon, lat] = this.place(x * this.width, y * this.height);
        [west, east] = [Math.min(west, lon), Math.max(east, lon)];
        [south, north] = [Math.min(south, lat), Math.max(north, lat)];
      }
    }
    const edge = this.straight; // no place is farther than 180 degrees from it
    return [Math.max(edge - 180, west), Math.max(-90, south), Math.min(edge + 180, east), Math.min(90, north)];
  }

  // box returns the span for the server: west is greater than east if it crosses the 180th
  // meridian.
  box() {
    const [west, south, east, north] = this.span();
    return east - west >= 360 ? [-180, south, 180, north] : [near(west), south, near(east), north];
  }

  // around returns the view that contains a box.
  around([west, south, east, north]) {
    const to = Object.assign(new View(), this);
    if (east < west) east += 360;
    to.lon = near((west + east) / 2);
    const [y0, y1] = [earth.north(south), earth.north(north)];
    to.lat = earth.latitude((y0 + y1) / 2);
    const wide = Math.max(1e-9, (east - west) * Math.max(earth.east(south), earth.east(north), earth.east(to.lat)));
    const scale = 0.8 * Math.min(this.width / wide, this.height / Math.max(1e-9, y1 - y0));
    to.zoom = Math.min(17, Math.log2(scale * earth.width / 256));
    to.settle();
    return to;
  }

  // world returns the view of the whole world.
  world() {
    const to = Object.assign(new View(), this, { lon: 0, lat: 0, zoom: this.farthest });
    to.settle();
    return to;
  }

  // between returns a view on the way to another, at a steady visual speed.
  between(to, t) {
    const v = Object.assign(new View(), this);
    v.zoom = this.zoom + (to.zoom - this.zoom) * t;
    const by = to.zoom === this.zoom ? t : (1 - 2 ** (-(v.zoom - this.zoom))) / (1 - 2 ** (-(to.zoom - this.zoom)));
    v.lon = near(this.lon + near(to.lon - this.lon) * by);
    v.lat = this.lat + (to.lat - this.lat) * by;
    return v;
  }
}

// near normalizes a longitude to -180 to 180.
export function near(lon) {
  return lon >= -180 && lon <= 180 ? lon : lon - 360 * Math.floor((lon + 180) / 360);
}
