import { type MapNode, nodeHeight, nodeWidth } from './map-node.ts';
import type { Curve, Point } from './map-routes.ts';

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Size of a character of a label, and the height of its line, in pixels. */
const characterWidth = 6.4;
export const labelHeight = 14;

/** Where along a curve a label is tried. */
const tries = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78];

/** The width that a label takes, in pixels. */
export function labelWidth(text: string): number {
  return text.length * characterWidth + 6;
}

/**
 * A place on its line for each label, in their order: none lies over a service or over a label before it. Undefined for an empty
 * text, and where there is no room.
 */
export function placeLabels(
  wanted: readonly { readonly text: string; readonly curves: readonly Curve[] }[],
  nodes: readonly MapNode[],
): (Point | undefined)[] {
  const taken: Box[] = nodes.map(({ x, y }) => ({ left: x, right: x + nodeWidth, top: y, bottom: y + nodeHeight }));
  return wanted.map(({ text, curves }) => {
    if (text === '') return undefined;
    for (const share of tries) {
      for (const curve of curves) {
        const place = pointOn(curve, share);
        const box = boxAround(place, text);
        if (taken.some((other) => overlap(box, other))) continue;
        taken.push(box);
        return place;
      }
    }
    return undefined;
  });
}

function boxAround({ x, y }: Point, text: string): Box {
  const half = labelWidth(text) / 2;
  return { left: x - half, right: x + half, top: y - labelHeight / 2, bottom: y + labelHeight / 2 };
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function pointOn([a, b, c, d]: Curve, t: number): Point {
  const at = (p: number, q: number, r: number, s: number): number =>
    (1 - t) ** 3 * p + 3 * (1 - t) ** 2 * t * q + 3 * (1 - t) * t ** 2 * r + t ** 3 * s;
  return { x: at(a.x, b.x, c.x, d.x), y: at(a.y, b.y, c.y, d.y) };
}
