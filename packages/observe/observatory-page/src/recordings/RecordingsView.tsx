import type { RecordingDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useState } from 'react';
import { useObservatory, useRecordings } from '../api/documents.ts';
import { Failure } from '../shell/Failure.tsx';
import { Reading } from '../shell/Reading.tsx';
import { DeleteRecording } from './DeleteRecording.tsx';
import { NewRecording } from './NewRecording.tsx';
import { RecordingTable } from './RecordingTable.tsx';
import { type RecordingAction, useRecordingActions } from './use-recording-actions.ts';
import './recordings.css';

const doing: Readonly<Record<RecordingAction['do'], string>> = {
  start: 'start the recording',
  stop: 'stop the recording',
  delete: 'delete the recording',
  download: 'download the recording',
  trace: 'export the recording',
  upload: 'import the file',
};

/** The recordings and the actions on them. */
export function RecordingsView(): ReactNode {
  const recordings = useRecordings();
  const node = useObservatory().data?.node;
  const actions = useRecordingActions();
  const [deleting, setDeleting] = useState<RecordingDocument>();
  const { variables: last } = actions;
  return (
    <div className="story">
      <h1 className="visually-hidden">Recordings</h1>
      <Reading of={recordings} what="the recordings">
        {(documents) => (
          <>
            <NewRecording
              taken={documents.map(({ name }) => name)}
              node={node !== undefined}
              busy={actions.isPending}
              onAction={(action) => actions.mutate(action)}
            />
            {actions.isError && last !== undefined ? (
              <Failure error={actions.error} doing={doing[last.do]} onRetry={() => actions.mutate(last)} />
            ) : null}
            <RecordingTable
              recordings={documents}
              node={node !== undefined}
              busy={actions.isPending}
              onAction={(action) => actions.mutate(action)}
              onDelete={setDeleting}
            />
          </>
        )}
      </Reading>
      {deleting === undefined ? null : (
        <DeleteRecording
          recording={deleting}
          onClose={(sure) => {
            setDeleting(undefined);
            if (sure) actions.mutate({ do: 'delete', name: deleting.name });
          }}
        />
      )}
    </div>
  );
}
