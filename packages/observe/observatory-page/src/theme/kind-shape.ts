import type { MessageKind } from '@kubus/contracts/observatory';

/** Kinds differ in shape, not by colour alone: a disc for facts, triangles for commands and replies, a diamond for events. */
export function kindPath(
  kind: MessageKind,
  x: number,
  y: number,
  r: number,
): readonly (readonly [number, number])[] | 'disc' {
  switch (kind) {
    case 'fact':
      return 'disc';
    case 'cmd':
      return [
        [x - r, y - r],
        [x + r * 1.2, y],
        [x - r, y + r],
      ];
    case 'reply':
      return [
        [x + r, y - r],
        [x - r * 1.2, y],
        [x + r, y + r],
      ];
    case 'event':
      return [
        [x, y - r * 1.25],
        [x + r * 1.25, y],
        [x, y + r * 1.25],
        [x - r * 1.25, y],
      ];
  }
}

export const kindNames: Readonly<Record<MessageKind, string>> = {
  fact: 'fact',
  cmd: 'command',
  reply: 'reply',
  event: 'event',
};
