import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Api } from './api/api.ts';
import { ApiContext } from './api/api-context.ts';
import { splitFragment, takeToken } from './api/token.ts';
import { startZone } from './format/zone.ts';
import { startTheme } from './theme/theme.ts';
import { Start } from './shell/Start.tsx';
import './theme/tokens.css';
import './theme/base.css';
import './shell/shell.css';
import './shell/narrow.css';

startTheme();
startZone();
const api = new Api(takeToken());
// The address of a restarted observatory, with another token, may be pasted into the same tab.
window.addEventListener('hashchange', () => {
  if (splitFragment(window.location.hash).token !== undefined) window.location.reload();
});
const queries = new QueryClient({
  defaultOptions: {
    // Recordings do not change; growing ones are read again when the node publishes something.
    queries: { retry: false, staleTime: Infinity, refetchOnWindowFocus: false, networkMode: 'always' },
    mutations: { networkMode: 'always' },
  },
});
const root = document.getElementById('page');
if (root === null) throw new Error('index.html has no element #page');
createRoot(root).render(
  <StrictMode>
    <ApiContext value={api}>
      <QueryClientProvider client={queries}>
        <Start />
      </QueryClientProvider>
    </ApiContext>
  </StrictMode>,
);
