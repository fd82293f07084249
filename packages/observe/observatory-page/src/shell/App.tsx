import { type ReactNode, useState } from 'react';
import { useRecordings } from '../api/documents.ts';
import { CompareView } from '../compare/CompareView.tsx';
import { ContractView } from '../contract/ContractView.tsx';
import { FaultsView } from '../faults/FaultsView.tsx';
import { MessageInspector } from '../inspector/MessageInspector.tsx';
import { LatencyView } from '../latency/LatencyView.tsx';
import { useZoneChoice } from '../format/zone.ts';
import { chooseTheme, themeChoices, useThemeChoice } from '../theme/theme.ts';
import { MapView } from '../map/MapView.tsx';
import { MessagesView } from '../messages/MessagesView.tsx';
import { Overview } from '../overview/Overview.tsx';
import { PodsView } from '../overview/PodsView.tsx';
import { PressureView } from '../pressure/PressureView.tsx';
import { RecordingsView } from '../recordings/RecordingsView.tsx';
import type { Route, View } from '../route/route.ts';
import { go, inspect, useRoute } from '../route/use-route.ts';
import { PodTimelineView } from '../timeline/PodTimelineView.tsx';
import { TopologyView } from '../topology/TopologyView.tsx';
import { EmptyState } from './EmptyState.tsx';
import { Header } from './Header.tsx';
import { Navigation } from './Navigation.tsx';
import { ShortcutHelp } from './ShortcutHelp.tsx';
import type { Shortcut } from './shortcuts.ts';
import { useShortcuts } from './use-shortcuts.ts';

/** The whole page: header, navigation, the view of the address, and the inspector when a message is chosen. */
export function App(): ReactNode {
  const route = useRoute();
  const theme = useThemeChoice();
  const zone = useZoneChoice();
  const [help, setHelp] = useState(false);
  const message = Number(route.query['message']);
  const inspecting = Number.isSafeInteger(message) && message > 0;

  useShortcuts((shortcut: Shortcut) => {
    if (shortcut.do === 'go') go({ recording: route.recording, view: shortcut.view, query: {} });
    if (shortcut.do === 'help') setHelp(true);
    if (shortcut.do === 'filter') document.querySelector<HTMLElement>('[data-filter]')?.focus();
    if (shortcut.do === 'list') document.querySelector<HTMLElement>('.main [role=grid], .main [data-list] a')?.focus();
    if (shortcut.do === 'theme') {
      chooseTheme(themeChoices[(themeChoices.indexOf(theme) + 1) % themeChoices.length] ?? 'system');
    }
    if (shortcut.do === 'close' && inspecting && !help) inspect(route, undefined);
  });

  return (
    <div className={inspecting ? 'app app-inspecting' : 'app'}>
      <Header onHelp={() => setHelp(true)} />
      <Navigation />
      <main className="main" key={`${route.recording} ${route.view} ${route.pod ?? ''} ${zone}`}>
        <ViewOf route={route} />
      </main>
      {inspecting ? <MessageInspector recording={route.recording} seq={message} /> : null}
      {help ? <ShortcutHelp onClose={() => setHelp(false)} /> : null}
    </div>
  );
}

/** Views that do not depend on the chosen recording. */
const ownWay: readonly View[] = ['pressure', 'recordings', 'faults', 'contract', 'compare'];

function ViewOf({ route }: { readonly route: Route }): ReactNode {
  const recordings = useRecordings().data ?? [];
  const needed = !ownWay.includes(route.view);
  if (needed && recordings.length === 0) {
    return (
      <EmptyState whole title="No recording to show">
        Open one with <code>./kubus observatory FILE</code>, import one under Recordings, or start a node with{' '}
        <code>./kubus up --observatory</code>.
      </EmptyState>
    );
  }
  if (needed && recordings.every(({ name }) => name !== route.recording)) {
    return (
      <EmptyState whole title={`There is no recording ${route.recording}`}>
        It has been deleted, or was in a file that is not open now. Choose another one above.
      </EmptyState>
    );
  }
  switch (route.view) {
    case 'overview':
      return <Overview />;
    case 'pods':
      return route.pod === undefined ? <PodsView /> : <PodTimelineView uid={route.pod} />;
    case 'messages':
      return <MessagesView />;
    case 'map':
      return <MapView />;
    case 'latency':
      return <LatencyView />;
    case 'compare':
      return <CompareView />;
    case 'topology':
      return <TopologyView />;
    case 'pressure':
      return <PressureView />;
    case 'recordings':
      return <RecordingsView />;
    case 'faults':
      return <FaultsView />;
    case 'contract':
      return <ContractView />;
  }
}
