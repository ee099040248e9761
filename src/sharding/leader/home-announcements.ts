// Announces homes of shards to hosts, many for one host in one message. Any other message about shards of the
// type has to come after them, so the driver flushes first.
import type { SchedulerMessage, ShardOrder } from "../../ports/control-messages.ts";

type AnnouncedHome = Extract<ShardOrder, { kind: "shardHomes" }>["homes"][number];
type Send = (streams: readonly number[], message: SchedulerMessage) => void;

export class HomeAnnouncements {
  readonly #type: string;
  readonly #send: Send;
  readonly #confirms: (stream: number) => boolean;
  readonly #homes = new Map<number, AnnouncedHome[]>();

  /** `confirms`: the host on that stream confirms homes. */
  constructor(type: string, send: Send, confirms: (stream: number) => boolean) {
    this.#type = type;
    this.#send = send;
    this.#confirms = confirms;
  }

  add(streams: readonly number[], home: AnnouncedHome): void {
    for (const stream of streams) {
      const homes = this.#homes.get(stream);
      if (homes === undefined) this.#homes.set(stream, [home]);
      else homes.push(home);
    }
  }

  flush(): void {
    for (const [stream, homes] of this.#homes) {
      const confirm = this.#confirms(stream) ? { confirm: true } : {};
      this.#send([stream], { kind: "shardHomes", type: this.#type, homes, ...confirm });
    }
    this.#homes.clear();
  }
}
