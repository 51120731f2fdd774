// The packets of one run: columns of numbers, and the state at an instant.

const TYPES = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array };
const CLASSES = ["data", "retransmission", "ack", "control", "cross"];
const FATES = ["delivered", "marked", "dropped", "lost", "open"];
const RADIO = ["idle", "promotion", "active", "tail"];

/** Number of values ≤ `limit` in an ascending array. */
function upTo(values, limit) {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] <= limit) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Lets the page handle events before the next part of a long calculation. */
const breath = () => new Promise(done => { setTimeout(done); });

/** A trace, from the simulator's description with the bytes of its columns. */
class Trace {
  static async of({ bytes, columns, ...about }) {
    const trace = Object.assign(new Trace(), about);
    trace.columns = {};
    let at = 0;
    for (const { name, type, length } of columns) {
      trace.columns[name] = new TYPES[type](bytes.buffer, bytes.byteOffset + at, length);
      at += trace.columns[name].byteLength;
    }
    const of = trace.columns;
    const counts = new Uint32Array(trace.links.length);
    for (const link of of.link) counts[link] += 1;
    const numbers = Array.from(counts, count => new Uint32Array(count));
    counts.fill(0);
    of.link.forEach((link, i) => { numbers[link][counts[link]++] = i; });
    trace.on = [];
    for (const own of numbers) {
      trace.on.push(trace.indexed(own));
      await breath();
    }
    const most = values => values.reduce((a, b) => Math.max(a, b), 0);
    trace.mostWindow = Math.max(1, ...trace.paths.map((_, path) => most(of[`window ${path}`])));
    trace.joules = of.energy.at(-1) ?? 0;
    return trace;
  }

  /** The packets of a link in the order of their offers, with sorted times for searches. */
  indexed(numbers) {
    const of = this.columns;
    // Packets before the first one whose maximum is later than an instant have arrived by then.
    const latest = numbers.map(i => of.arrives[i]);
    for (let k = 1; k < latest.length; k += 1) latest[k] = Math.max(latest[k], latest[k - 1]);
    const [dropped, lost] = ["dropped", "lost"].map(fate => FATES.indexOf(fate));
    const passed = numbers.filter(i => of.fate[i] !== dropped);
    const sorted = (some, times) => some.map(i => times[i]).sort();
    const on = {
      numbers, latest,
      offered: numbers.map(i => of.offered[i]),
      came: passed.map(i => of.offered[i]),
      left: sorted(passed, of.left),
      arrived: sorted(passed, of.arrives),
      dropped: sorted(numbers.filter(i => of.fate[i] === dropped), of.left),
      lost: sorted(numbers.filter(i => of.fate[i] === lost), of.left),
      mostWaiting: 0,
    };
    for (let k = 0, gone = 0; k < on.came.length; k += 1) {
      while (gone < on.left.length && on.left[gone] <= on.came[k]) gone += 1;
      on.mostWaiting = Math.max(on.mostWaiting, k + 1 - gone);
    }
    return on;
  }

  /** Calls `visit(packet)` for the packets on a link at `tick`, in the order of their offers. */
  each(link, tick, visit) {
    const { numbers, offered, latest } = this.on[link];
    const { arrives } = this.columns;
    const end = upTo(offered, tick);
    for (let k = upTo(latest, tick); k < end; k += 1) {
      if (arrives[numbers[k]] > tick) visit(numbers[k]);
    }
  }

  tick(seconds) {
    return Math.round(seconds / this.tick_s);
  }

  /** Number of the sample that holds at an instant. */
  sample(seconds) {
    return Math.max(0, upTo(this.columns.time, this.tick(seconds)) - 1);
  }

  /** State of a path: numbers for people. */
  state(path, seconds) {
    const [of, at, tick] = [this.columns, this.sample(seconds), this.tick(seconds)];
    const state = {
      radio: RADIO[of[`radio ${path}`][at]],
      window: of[`window ${path}`][at],
      inFlight: of[`in flight ${path}`][at],
      delivered_kB: of[`delivered ${path}`][at],
      energy_j: of[`energy ${path}`][at],
      waiting: 0, onWire: 0, dropped: 0, lost: 0,
    };
    for (const link of new Set([...this.paths[path].down, ...this.paths[path].up])) {
      const on = this.on[link];
      const left = upTo(on.left, tick);
      state.waiting += upTo(on.came, tick) - left;
      state.onWire += left - upTo(on.arrived, tick);
      state.dropped += upTo(on.dropped, tick);
      state.lost += upTo(on.lost, tick);
    }
    return state;
  }

  energy(seconds) {
    return this.columns.energy[this.sample(seconds)] ?? 0;
  }
}
