import type { RecordingDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useState } from 'react';
import { live, useObservatory, useRecordings } from '../api/documents.ts';
import { useLive } from '../api/live.tsx';
import { FaultMark } from '../faults/FaultMark.tsx';
import { count, rate } from '../format/quantity.ts';
import { type ZoneChoice, chooseZone, useZoneChoice, zoneAt, zoneChoices } from '../format/zone.ts';
import { type ThemeChoice, chooseTheme, themeChoices, useThemeChoice } from '../theme/theme.ts';
import { formatRoute } from '../route/route.ts';
import { go, useRoute } from '../route/use-route.ts';

/** The node, the recording, the state of the connection, and the theme. */
export function Header({ onHelp }: { readonly onHelp: () => void }): ReactNode {
  const observatory = useObservatory().data;
  const theme = useThemeChoice();
  const zone = useZoneChoice();
  const [opened] = useState(() => Date.now());
  return (
    <header className="header">
      <span className="brand">
        <img src="./icon.svg" alt="" width="18" height="18" /> <span className="brand-name">Kubus observatory</span>
      </span>
      <RecordingChooser />
      {observatory?.node === undefined ? (
        <span className="dim">files only</span>
      ) : (
        <span>
          node <NodeLink node={observatory.node} />
        </span>
      )}
      {observatory?.node === undefined ? null : <LiveMark />}
      <FaultMark />
      <span className="spacer" />
      <label className="inline">
        <span className="dim">Times in</span>
        <select value={zone} onChange={(event) => chooseZone(event.target.value as ZoneChoice)}>
          {zoneChoices.map((choice) => (
            <option key={choice} value={choice}>
              {zoneAt(opened, choice)}
            </option>
          ))}
        </select>
      </label>
      <label className="inline">
        <span className="dim">Theme</span>
        <select value={theme} onChange={(event) => chooseTheme(event.target.value as ThemeChoice)}>
          {themeChoices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      </label>
      <button type="button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts" onClick={onHelp}>
        ?
      </button>
    </header>
  );
}

/** Leads to what the node has left. */
function NodeLink({ node }: { readonly node: string }): ReactNode {
  const { recording } = useRoute();
  return (
    <a href={formatRoute({ recording, view: 'pressure', query: {} })} title="What the node has left">
      <strong>{node}</strong>
    </a>
  );
}

function RecordingChooser(): ReactNode {
  const route = useRoute();
  const recordings = useRecordings().data ?? [];
  const known = recordings.some(({ name }) => name === route.recording);
  const choose = (recording: string): void => {
    // A pod, a message and a range belong to one recording.
    go({ recording, view: route.view, query: {} });
  };
  return (
    <label className="inline">
      <span className="dim">Recording</span>
      <select value={route.recording} onChange={(event) => choose(event.target.value)}>
        {known ? null : <option value={route.recording}>{route.recording}</option>}
        {recordings.map((recording) => (
          <option key={recording.name} value={recording.name}>
            {labelOf(recording)}
          </option>
        ))}
      </select>
    </label>
  );
}

function labelOf({ name, messages }: RecordingDocument): string {
  return name === live ? 'live: the node’s record' : `${name} (${count(messages)})`;
}

function LiveMark(): ReactNode {
  const { state, tick } = useLive();
  const total = Object.values(tick?.rates ?? {}).reduce((sum, one) => sum + one, 0);
  return (
    <span className={`live live-${state}`}>
      <span aria-hidden="true" className="live-dot" />
      {state === 'open' ? `live, ${rate(total)} messages/s` : 'connecting to the node …'}
    </span>
  );
}
