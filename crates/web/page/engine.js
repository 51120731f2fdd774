// Web Workers with the simulator.

/** Time that a request may take, ms. */
const LIMIT_MS = 60_000;
/** Most workers: each has a memory of its own. */
const MOST_WORKERS = 16;

class Cancelled extends Error {}

/** A mistake of the request, as the simulator describes it: message, help, problems with lines. */
class Refused extends Error {
  constructor({ message, help, problems }) {
    super(message);
    this.help = help;
    this.problems = problems;
  }
}

/** Address of the script of a worker. */
function workerAddress() {
  return URL.createObjectURL(new Blob([document.getElementById("worker").textContent], { type: "text/javascript" }));
}

/** Compiles the module of this page in a worker: it has megabytes, which would block the page. */
async function compiled() {
  const address = workerAddress();
  const worker = new Worker(address);
  try {
    return await new Promise((done, failed) => {
      worker.onmessage = ({ data }) => data.trap === undefined ? done(data.compiled) : failed(new Error(data.trap));
      worker.onerror = event => failed(new Error(event.message || "a worker of this page failed"));
      worker.postMessage({ packed: document.getElementById("module").textContent });
    });
  } finally {
    worker.terminate();
    URL.revokeObjectURL(address);
  }
}

/** Workers that share a queue of requests. */
class Pool {
  constructor(module, size) {
    this.module = module;
    this.size = size;
    this.address = workerAddress();
    this.idle = [];
    this.busy = new Map();
    this.queue = [];
  }

  /** The reply to a request, with `bytes` if bytes are attached. Throws Refused, Cancelled, or an Error with a message for the user. */
  async ask(request, limit_ms = LIMIT_MS, attached = []) {
    const { reply: text, bytes } = await new Promise((done, failed) => {
      this.queue.push({ request: JSON.stringify(request), attached, done, failed, limit_ms });
      this.next();
    });
    const reply = JSON.parse(text);
    if (reply.error) throw new Refused(reply.error);
    return bytes.length ? { ...reply.ok, bytes } : reply.ok;
  }

  /** Ends all requests. */
  cancel() {
    for (const task of this.queue.splice(0)) task.failed(new Cancelled());
    for (const [worker, task] of this.busy) this.discard(worker, task, new Cancelled());
  }

  next() {
    while (this.queue.length && this.busy.size < this.size) {
      const task = this.queue.shift();
      const worker = this.idle.pop() ?? this.hire();
      this.busy.set(worker, task);
      const late = () => this.discard(worker, task, new Error(
        `the simulator was stopped after ${task.limit_ms / 1000} s; choose a shorter duration or less data, or use the command line`));
      task.timer = setTimeout(late, task.limit_ms);
      worker.postMessage({ request: task.request, attached: task.attached });
    }
  }

  hire() {
    const worker = new Worker(this.address);
    worker.postMessage({ module: this.module });
    worker.onmessage = ({ data }) => {
      const task = this.busy.get(worker);
      if (!task) return;
      if (data.trap !== undefined) {
        this.discard(worker, task, new Error(data.trap));
        return;
      }
      clearTimeout(task.timer);
      this.busy.delete(worker);
      this.idle.push(worker);
      task.done(data);
      this.next();
    };
    worker.onerror = event => {
      const task = this.busy.get(worker);
      if (task) this.discard(worker, task, new Error(event.message || "a worker of this page failed"));
    };
    return worker;
  }

  discard(worker, task, error) {
    clearTimeout(task.timer);
    worker.terminate();
    this.busy.delete(worker);
    task.failed(error);
    this.next();
  }
}

/** Runs a comparison on a pool and puts it together. `tell(finished, all)` hears of each run. */
async function compare(pool, of, tell) {
  const { runs } = await pool.ask({ do: "check", of });
  let finished = 0;
  tell(finished, runs.length);
  const one = async index => {
    const { bytes } = await pool.ask({ do: "run", of, index });
    finished += 1;
    tell(finished, runs.length);
    return bytes;
  };
  try {
    const all = await Promise.all(runs.map((_, index) => one(index)));
    return await pool.ask({ do: "gather", of, runs: all.map(run => run.length) }, LIMIT_MS, all);
  } catch (error) {
    // The first failure ends the others.
    pool.cancel();
    throw error;
  }
}
