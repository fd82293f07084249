import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Api } from './api/api.ts';
import { ApiContext } from './api/api-context.ts';
import { splitFragment, takeToken } from './api/token.ts';
import { startTheme } from './look/theme.ts';
import { Start } from './shell/Start.tsx';
import './look/tokens.css';
import './look/base.css';
import './shell/shell.css';

startTheme();
const api = new Api(takeToken());
// Somebody pastes the address of an observatory that was started again into the same tab: it has another token.
window.addEventListener('hashchange', () => {
  if (splitFragment(window.location.hash).token !== undefined) window.location.reload();
});
const queries = new QueryClient({
  defaultOptions: {
    // Recordings do not change; what grows is read again when the node says something.
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
