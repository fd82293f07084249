import type { ReactNode } from 'react';
import { clock, dateAndTime } from '../format/moment.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { changesAround } from './cpu-marks.ts';

interface Props {
  readonly moments: readonly number[];
  /** Undefined: the end. */
  readonly at: number | undefined;
  /** First and last message of the recording. */
  readonly from: number;
  readonly to: number;
}

/** Chooses a moment of the recording: by time, or from change to change. */
export function MomentChooser({ moments, at, from, to }: Props): ReactNode {
  const route = useRoute();
  const { earlier, later } = changesAround(moments, at);
  const show = (moment: number | undefined) =>
    goQuery(route, { at: moment === undefined ? undefined : String(moment) });
  return (
    <div className="toolbar moment-chooser">
      <button type="button" disabled={earlier === undefined} onClick={() => show(earlier)}>
        Earlier change
      </button>
      <button type="button" disabled={later === undefined} onClick={() => show(later)}>
        Later change
      </button>
      <input
        type="range"
        aria-label="Moment of the recording"
        aria-valuetext={at === undefined ? 'its end' : clock(at)}
        min={Math.floor(from)}
        max={Math.ceil(to)}
        value={at ?? Math.ceil(to)}
        onChange={(event) => show(Number(event.target.value))}
      />
      <button type="button" aria-pressed={at === undefined} onClick={() => show(undefined)}>
        Newest
      </button>
      <span role="status">{at === undefined ? 'the end of the recording' : `${dateAndTime(at)}, ${clock(at)}`}</span>
    </div>
  );
}
