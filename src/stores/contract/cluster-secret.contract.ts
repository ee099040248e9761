// The secret of a cluster: the first process that offers one writes it, and every later process gets the same
// one.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CoordinationHarness } from "./coordination-shared.contract.ts";

export function clusterSecretContract(harness: CoordinationHarness): void {
  describe("cluster secret", () => {
    test("the first offer becomes the secret of every process on the store, also of concurrent ones", async () => {
      const { store, second, dispose } = await harness.open();
      try {
        const another = (await second?.()) ?? store;
        const offers = Array.from({ length: 20 }, (_, i) => `offer ${i} 🐚`);
        const asked = offers.map((offer, i) => (i % 2 === 0 ? store : another).coordination.secret(offer));
        const secrets = new Set(await Promise.all(asked));
        assert.equal(secrets.size, 1);
        const [secret] = [...secrets];
        assert.ok(offers.includes(secret!), secret);
        assert.equal(await another.coordination.secret("later"), secret);
        assert.equal(await store.coordination.secret("later"), secret);
        if (another !== store) await another.close();
      } finally {
        await dispose();
      }
    });
  });
}
