import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The observatory for `vite dev`: the stand-in of the tests, or the address that `kubus observatory` has printed. */
const api = process.env['KUBUS_OBSERVATORY'] ?? 'http://127.0.0.1:8471';

export default defineConfig({
  plugins: [react()],
  // The page can be served from any path of any server.
  base: './',
  build: { target: 'es2022', chunkSizeWarningLimit: 1000 },
  server: { host: '127.0.0.1', proxy: { '/api': api } },
});
