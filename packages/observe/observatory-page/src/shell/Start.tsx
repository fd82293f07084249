import type { ReactNode } from 'react';
import { ApiError } from '../api/api-error.ts';
import { live, useObservatory, useRecordings } from '../api/documents.ts';
import { LiveProvider } from '../api/live.tsx';
import { RouteProvider, useAddress } from '../route/use-route.ts';
import { App } from './App.tsx';
import { Reading } from './Reading.tsx';
import { TokenForm } from './TokenForm.tsx';

/** Loads the list of recordings before anything is shown. */
export function Start(): ReactNode {
  const observatory = useObservatory();
  const recordings = useRecordings();
  const first = recordings.data?.find(({ name }) => name === live) ?? recordings.data?.[0];
  const route = useAddress(recordings.data === undefined ? undefined : (first?.name ?? live));
  if (observatory.data === undefined || recordings.data === undefined) {
    return (
      <main className="main main-alone">
        <h1>Kubus observatory</h1>
        <Reading of={observatory} what="the observatory">
          {() => (
            <Reading of={recordings} what="the recordings">
              {() => null}
            </Reading>
          )}
        </Reading>
        {observatory.error instanceof ApiError && observatory.error.status === 401 ? <TokenForm /> : null}
      </main>
    );
  }
  const app = <App />;
  return (
    <RouteProvider value={route}>
      {observatory.data.node === undefined ? app : <LiveProvider>{app}</LiveProvider>}
    </RouteProvider>
  );
}
