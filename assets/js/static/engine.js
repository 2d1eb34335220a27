// The worker that computes (worker.js), and the texts that it has computed or that came with the page.
const KEPT = 2; // of 512 tokens one of MiniLM has 75 MB, of 256 one of SmolLM2 71 MB

export class Engine {
  // start(): a new worker; runs, files: what came with the page; progress(share, model): of a model on its way.
  constructor(start, { runs, files }, progress) {
    Object.assign(this, { start, files, progress, runs: new Map(), loads: new Map(), ready: new Map(), waiting: new Map(), last: 0 });
    this.given = new Map(runs.map((run) => [run.model + run.text, run]));
  }

  known(model, text) {
    return this.given.get(model + text) ?? this.runs.get(model + text);
  }

  async run(model, text) {
    if (this.known(model, text)) return this.known(model, text);
    await this.load(model);
    const run = await this.ask({ model, text });
    this.runs.set(model + text, run);
    if (this.runs.size > KEPT) this.runs.delete(this.runs.keys().next().value);
    return run;
  }

  load(model) {
    if (!this.loads.has(model)) {
      const load = this.ask({ load: model, files: this.files }).then((answer) => {
        this.ready.set(model, answer);
        for (const [name, run] of this.given) if (answer.spellings && run.model === model) this.given.delete(name); // without a next token
      });
      load.catch(() => this.loads.delete(model));
      this.loads.set(model, load);
    }
    return this.loads.get(model);
  }

  ask(message) {
    if (!this.worker) {
      this.worker = this.start();
      this.worker.onmessage = ({ data }) => this.answered(data);
      this.worker.onerror = () => this.stop("This browser cannot run the model.");
    }
    const id = ++this.last;
    this.worker.postMessage({ id, ...message });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  answered(data) {
    if (data.progress !== undefined) return this.progress(data.progress, data.model);
    const asked = this.waiting.get(data.id);
    this.waiting.delete(data.id);
    if (data.fatal) {
      asked?.reject(new Error(data.error));
      this.stop(data.error);
    } else if (data.error) asked?.reject(new Error(data.error));
    else asked?.resolve(data);
  }

  // Also a model on its way: the worker ends, and the next question begins another.
  stop(reason = "Stopped.") {
    this.worker?.terminate();
    this.worker = null;
    for (const { reject } of this.waiting.values()) reject(new Error(reason));
    for (const all of [this.waiting, this.loads, this.ready]) all.clear();
  }
}
