import { type ReactNode, useId, useState } from 'react';
import { nameOfFile, nameProblem } from './recording-name.ts';
import type { RecordingAction } from './use-recording-actions.ts';

interface Props {
  readonly taken: readonly string[];
  /** True for a node; false for read-only files. */
  readonly node: boolean;
  readonly busy: boolean;
  readonly onAction: (action: RecordingAction) => void;
}

/** Starts a recording of the node, or imports one from a file. */
export function NewRecording({ taken, node, busy, onAction }: Props): ReactNode {
  const [name, setName] = useState('');
  const problem = name === '' ? undefined : nameProblem(name, taken);
  const id = useId();
  return (
    <div className="toolbar">
      {node ? (
        <form
          className="inline"
          onSubmit={(event) => {
            event.preventDefault();
            if (name === '' || problem !== undefined) return;
            onAction({ do: 'start', name });
            setName('');
          }}
        >
          <label className="inline">
            New recording
            <input
              data-filter=""
              value={name}
              placeholder="name"
              aria-invalid={problem !== undefined}
              aria-describedby={id}
              onChange={({ target }) => setName(target.value)}
            />
          </label>
          <button type="submit" className="primary" disabled={busy || name === '' || problem !== undefined}>
            ● Start
          </button>
          <span id={id} className="bad" role="status">
            {problem ?? ''}
          </span>
        </form>
      ) : (
        <span className="dim">
          Only files are open; there is no node. <code>./kubus up --observatory</code> starts a node that can be
          recorded.
        </span>
      )}
      <span className="spacer" />
      {node ? (
        <label className="inline">
          Import a file
          <input
            type="file"
            accept=".kubus"
            disabled={busy}
            onChange={({ target }) => {
              const file = target.files?.[0];
              if (file !== undefined) onAction({ do: 'upload', name: nameOfFile(file.name, taken), file });
              target.value = '';
            }}
          />
        </label>
      ) : null}
    </div>
  );
}
