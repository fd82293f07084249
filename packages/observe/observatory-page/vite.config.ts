import react from '@vitejs/plugin-react';
import { type Plugin, defineConfig } from 'vite';

/** The observatory for `vite dev`: the stand-in of the tests, or the address that `kubus observatory` has printed. */
const api = process.env['KUBUS_OBSERVATORY'] ?? 'http://127.0.0.1:8471';

/** Limit of the page's program, in bytes before compression. */
const MAX_PROGRAM = 520_000;

/** The page is one program and one style sheet, and stays small: it is read from the node that it shows. */
const bounded: Plugin = {
  name: 'kubus-bounded-page',
  // Tests build it with React's warnings, which are large.
  apply: (_, { command, mode }) => command === 'build' && mode === 'production' && process.env['NODE_ENV'] !== 'test',
  generateBundle(_, bundle) {
    const programs = Object.values(bundle).flatMap((one) => (one.type === 'chunk' ? [one] : []));
    const bytes = programs.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0);
    if (programs.length !== 1) this.error(`the page has ${programs.length} programs instead of one`);
    if (bytes > MAX_PROGRAM) this.error(`the page's program has ${bytes} bytes, ${MAX_PROGRAM} at most`);
  },
};

export default defineConfig({
  plugins: [react(), bounded],
  // The page can be served from any path of any server.
  base: './',
  build: { target: 'es2022', chunkSizeWarningLimit: 1000 },
  server: { host: '127.0.0.1', proxy: { '/api': api } },
});
