import { type ReactNode, useId } from 'react';
import { usePods, useRecordings } from '../api/documents.ts';
import type { Side } from './compared.ts';

interface Props {
  readonly name: 'Left' | 'Right';
  readonly side: Side;
  readonly onChange: (side: Side) => void;
}

const offered = 500;

/** One side of a comparison: a recording, and one pod of it or all of them. */
export function SideChooser({ name, side, onChange }: Props): ReactNode {
  const recordings = useRecordings().data ?? [];
  const pods = usePods(side.recording === '' ? undefined : side.recording).data ?? [];
  const id = useId();
  const pod = pods.find(({ uid }) => uid === side.pod);
  return (
    <fieldset className="side">
      <legend>{name}</legend>
      <label>
        Recording
        <select value={side.recording} onChange={({ target }) => onChange({ recording: target.value, pod: undefined })}>
          <option value="">choose one</option>
          {recordings.map((recording) => (
            <option key={recording.name}>{recording.name}</option>
          ))}
        </select>
      </label>
      <label>
        Pod
        <input
          key={`${side.recording} ${side.pod ?? ''} ${pod?.name ?? ''}`}
          type="search"
          list={id}
          placeholder="all pods"
          disabled={side.recording === ''}
          defaultValue={pod?.name ?? side.pod ?? ''}
          onChange={({ target: { value } }) => {
            const named = pods.find((one) => one.name === value || one.uid === value);
            if (named !== undefined) onChange({ ...side, pod: named.uid });
            if (value === '') onChange({ ...side, pod: undefined });
          }}
        />
        <datalist id={id}>
          {pods.slice(0, offered).map(({ uid, name: podName, namespace }) => (
            <option key={uid} value={podName}>
              {namespace}
            </option>
          ))}
        </datalist>
      </label>
    </fieldset>
  );
}
