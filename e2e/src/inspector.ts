/** An event or an answer of the inspector. */
interface Received {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** A debugger of a Node.js process, over the WebSocket of its inspector (Chrome DevTools protocol). */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #received: Received[] = [];
  readonly #waiting = new Set<() => void>();
  #calls = 0;

  /** Attaches to the one process whose inspector listens on the port. */
  static async attach(port: number): Promise<Inspector> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', reject, { once: true });
    });
    return new Inspector(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      this.#received.push(JSON.parse(String(data)) as Received);
      for (const look of this.#waiting) look();
    });
  }

  /** Calls a method and returns its result. */
  async call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#calls;
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await this.#first((one) => one.id === id);
    if (result === undefined) throw new Error(`${method}: ${error?.message ?? 'no answer'}`);
    return result;
  }

  /** The first event of that name that matches; events that came earlier count. */
  async event(
    method: string,
    isWanted: (params: Record<string, unknown>) => boolean = () => true,
  ): Promise<Record<string, unknown>> {
    const { params = {} } = await this.#first((one) => one.method === method && isWanted(one.params ?? {}));
    return params;
  }

  close(): void {
    this.#socket.close();
  }

  #first(isIt: (one: Received) => boolean): Promise<Received> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.#received.find(isIt);
        if (found === undefined) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }
}
