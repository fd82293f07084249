// The globals that every JavaScript runtime has and that do no I/O: all that packages without the types of Node.js may use.
interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
  throwIfAborted(): void;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare function structuredClone<T>(value: T): T;

declare class TextEncoder {
  encode(text: string): Uint8Array;
}

declare class TextDecoder {
  decode(bytes: Uint8Array): string;
}

declare function btoa(binary: string): string;

/** Throws for text that is not base64. */
declare function atob(base64: string): string;

interface DateConstructor {
  /** @deprecated Pass the time in. */
  new (): Date;
}
