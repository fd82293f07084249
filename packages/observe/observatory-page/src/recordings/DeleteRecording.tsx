import type { RecordingDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useEffect, useRef } from 'react';
import { bytes, counted } from '../format/quantity.ts';

interface Props {
  readonly recording: RecordingDocument;
  readonly onClose: (sure: boolean) => void;
}

/** Asks before a recording is deleted. */
export function DeleteRecording({ recording, onClose }: Props): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="delete-title"
      onClose={() => onClose(dialog.current?.returnValue === 'delete')}
    >
      <h2 id="delete-title">Delete {recording.name}?</h2>
      <p>
        {counted(recording.messages, 'message')}, {bytes(recording.bytes)}. Its file is removed; download it first if
        you want to keep it.
      </p>
      <form method="dialog" className="dialog-buttons">
        <button type="submit" value="keep" autoFocus>
          Keep
        </button>
        <button type="submit" value="delete" className="danger">
          Delete
        </button>
      </form>
    </dialog>
  );
}
