// The records of the store under test: ordinary ones, and texts that a page must not believe.

export const HOSTILE = [
  "</script><script>window.harmed=1</script>",
  "<img src=x onerror=window.harmed=1>",
  "javascript:window.harmed=1",
  "\u202Egnp.exe\u202C \u2066right to left",
  "word".repeat(5000),
  "{{constructor.constructor('window.harmed=1')()}}",
];
const RAW = "@@12345678901234567890.10@@";
const STATES = [
  "new",
  "new-for-agent",
  "agent-replied",
  "waiting-for-agent",
  "resolved",
  "rejected",
];
const TITLES = [
  "No e-mail to reset my password",
  "تم الدفع مرتين",
  "Parcel shown as delivered",
  "注文が届きません",
  "Wie lade ich mein Team ein?",
];

/** Issues in every state, by day. */
export function issues(count, now) {
  return Array.from({ length: count }, (_, n) => ({
    title: `${TITLES[n % TITLES.length]} ${n}`,
    created_at: now - (count - n) * 600000,
    author_name: "Ada Lovelace",
    author_email: `ada${n % 50}@example.org`,
    tags: n % 3 ? ["billing"] : ["billing", "urgent"],
    language: n % 2 ? "en" : "de",
    state_data: { state: STATES[n % STATES.length], changed_at: now - (count - n) * 600000 },
    messages: [
      {
        body: n % 7 ? "Nothing arrives." : `A needle number${n} in the text.`,
        created_at: now - (count - n) * 600000,
        origin: "end-user",
      },
    ],
  }));
}

/** Issues with a hostile text in every field. */
export function hostileIssues(now) {
  return HOSTILE.map((text, n) => ({
    title: text,
    created_at: now + n,
    author_name: text,
    author_email: `${text.slice(0, 50)}@example.org`,
    tags: [text.slice(0, 900)],
    custom_fields: {
      [text.slice(0, 200)]: { type: "singleline", value: text.slice(0, 200) },
      exact: { type: "number", value: RAW },
    },
    messages: [
      {
        body: text,
        created_at: now + n,
        origin: "end-user",
        attachments: [
          {
            url: "https://files.example/x",
            file_name: text.slice(0, 100),
            content_type: "text/html",
            size: 1,
          },
        ],
      },
    ],
    private_notes: [{ body: text, created_at: now + n }],
  })).map((entry) => JSON.stringify(entry).replace(/"@@|@@"/g, ""));
}

/** Profiles with a hostile text in every field. */
export function hostileProfiles() {
  return HOSTILE.map((text, n) => ({
    identities: [{ uid: `${n} ${text.slice(0, 300)}` }],
    names: { full_name: text.slice(0, 1000) },
    tags: ["hostile", text.slice(0, 90)],
    custom_fields: { [text.slice(0, 100)]: text.slice(0, 100), exact: RAW },
    last_city: text.slice(0, 1000),
  })).map((entry) => JSON.stringify(entry).replace(/"@@|@@"/g, ""));
}

/** Profiles; every tenth has one of three faults. */
export function faultyProfiles(count) {
  return Array.from({ length: count }, (_, n) => {
    const entry = { identities: [{ email: `p${n}@example.org` }], last_country: "DE" };
    if (n % 10 === 5)
      Object.assign(entry, {
        names: { first_name: "Ada", last_name: "Byron" },
        last_country: "United Kingdom",
        tags: n % 20 === 5 ? ["poet", "vip"] : [],
      });
    if (n % 10 === 1) entry.last_country = "Atlantis";
    if (n % 10 === 2) entry.age = "old";
    if (n % 10 === 3) entry.cusotm_fields = {};
    return entry;
  });
}

/** A CSV file of people, of whom some live in a country that is none. */
export function csv(rows, faults) {
  const lines = ["email,first name,country,tags,plan"];
  for (let n = 0; n < rows; n++) {
    const country = n % Math.floor(rows / faults) === 5 ? "Germoney" : "DE";
    lines.push(`c${n}@example.org,"Ada ""${n}""",${country},a;b,pro`);
  }
  return lines.join("\r\n");
}
