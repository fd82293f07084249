import type { RecordingDocument } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { live } from '../api/documents.ts';
import { dateAndTime } from '../format/moment.ts';
import { bytes, count, duration } from '../format/quantity.ts';
import { walkRows } from '../grid/walk-rows.ts';
import { formatRoute } from '../route/route.ts';
import { useRoute } from '../route/use-route.ts';
import { CompletenessMark } from './CompletenessMark.tsx';
import type { RecordingAction, TraceFormat } from './use-recording-actions.ts';

interface Props {
  readonly recordings: readonly RecordingDocument[];
  /** True for a node; false for read-only files. */
  readonly node: boolean;
  readonly busy: boolean;
  readonly onAction: (action: RecordingAction) => void;
  readonly onDelete: (recording: RecordingDocument) => void;
}

const states: Readonly<Record<RecordingDocument['state'], string>> = {
  live: '● live',
  recording: '● recording',
  complete: '■ stopped',
  imported: '⇣ from a file',
};

/** The recordings with their size, completeness and actions. */
export function RecordingTable({ recordings, node, busy, onAction, onDelete }: Props): ReactNode {
  return (
    <div className="recordings" tabIndex={0} role="group" aria-label="Recordings" data-list="">
      <table onKeyDown={walkRows}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">State</th>
            <th scope="col">Node</th>
            <th scope="col">Started</th>
            <th scope="col" className="cell-right">
              Covers
            </th>
            <th scope="col" className="cell-right">
              Messages
            </th>
            <th scope="col" className="cell-right">
              Size
            </th>
            <th scope="col">Completeness</th>
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          {recordings.map((recording) => (
            <Row key={recording.name} {...{ recording, node, busy, onAction, onDelete }} />
          ))}
        </tbody>
      </table>
      {recordings.length === 0 ? (
        <p className="grid-empty">
          No recordings. Import a file above, open one with <code>./kubus observatory FILE</code>, or start a node that
          records itself with <code>./kubus up --observatory</code>.
        </p>
      ) : null}
    </div>
  );
}

interface RowProps extends Omit<Props, 'recordings'> {
  readonly recording: RecordingDocument;
}

function Row({ recording, node: canDelete, busy, onAction, onDelete }: RowProps): ReactNode {
  const { name, state, node, began, firstAt, lastAt, messages, completeness } = recording;
  const current = useRoute().recording === name;
  return (
    <tr>
      <th scope="row">
        <a href={formatRoute({ recording: name, view: 'overview', query: {} })} aria-current={current}>
          {name === live ? 'live' : name}
        </a>
      </th>
      <td>{states[state]}</td>
      <td>{node}</td>
      <td>{dateAndTime(began)}</td>
      <td className="cell-right">{firstAt === undefined || lastAt === undefined ? '–' : duration(lastAt - firstAt)}</td>
      <td className="cell-right">{count(messages)}</td>
      <td className="cell-right">{bytes(recording.bytes)}</td>
      <td className="recording-missing">
        <CompletenessMark completeness={completeness} />
      </td>
      <td className="recording-actions">
        {state === 'recording' ? (
          <button type="button" disabled={busy} onClick={() => onAction({ do: 'stop', name })}>
            ■ Stop
          </button>
        ) : null}
        <button
          type="button"
          disabled={busy}
          aria-label={`Download ${name}`}
          onClick={() => onAction({ do: 'download', name })}
        >
          Download
        </button>
        <select
          aria-label={`Export ${name} as`}
          value=""
          disabled={busy}
          onChange={({ target }) => onAction({ do: 'trace', name, format: target.value as TraceFormat })}
        >
          <option value="" disabled>
            Export as
          </option>
          <option value="otlp">OTLP spans</option>
          <option value="chrome">Chrome trace</option>
          <option value="jsonl">JSON lines</option>
        </select>
        {state === 'live' || !canDelete ? null : (
          <button
            type="button"
            className="danger"
            disabled={busy}
            aria-label={`Delete ${name}`}
            onClick={() => onDelete(recording)}
          >
            Delete
          </button>
        )}
      </td>
    </tr>
  );
}
