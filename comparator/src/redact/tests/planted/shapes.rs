//! Bodies in which only another value, a column or a position tells that a value is secret.

use super::*;

/// A name in the form that GraphQL allows.
fn identifier(name: &str) -> String {
    name.replace(['-', '.'], "_")
}

/// A name in the form that URLs allow.
fn segment(name: &str) -> String {
    if name.is_ascii() {
        name.to_owned()
    } else {
        percent(name)
    }
}

/// Names and values in separate positions: a media type, and a function that writes the body.
#[rustfmt::skip]
pub(super) const SHAPES: &[(&str, Write)] = &[
    // A member names the value next to it.
    ("application/json-patch+json", |n, s| format!(r#"[{{"op":"replace","path":"/{n}","value":"{s}"}}]"#).into()),
    ("application/json", |n, s| format!(r#"[{{"op":"add","path":"/users/0/{n}/-","value":{{"a":["{s}"]}}}}]"#).into()),
    ("application/json", |n, s| format!(r#"[{{"op":"test","path":"/{n}/old","value":["{s}"]}}]"#).into()),
    ("application/json", |n, s| format!(r#"{{"field":"{n}","value":"{s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"errors":[{{"field":"user.{n}","rejectedValue":"{s}"}}]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"detail":[{{"loc":["body","{n}"],"msg":"x","input":"{s}"}}]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"instancePath":"/{n}","data":"{s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"errors":[{{"source":{{"pointer":"/data/attributes/{n}"}},"value":"{s}"}}]}}"#).into()),
    ("application/json", |n, s| format!(r##"{{"path":"#/properties/{n}","actual":"{s}"}}"##).into()),
    ("application/json", |n, s| format!(r#"{{"path":"$.user['{n}']","got":"{s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"headers":[{{"name":"X-{n}","value":"{s}"}}]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"cookies":1,"params":[{{"key":"{n}","value":{{"stringValue":"{s}"}}}}]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"Name":"{n}","Value":"{s}"}}"#).into()),
    ("application/json", |n, s| format!(r##"{{"@name":"{n}","$":"{s}","#text":"{s}"}}"##).into()),
    ("application/json", |n, s| format!(r#"{{"x":"{{\"field\":\"{n}\",\"value\":\"{s}\"}}"}}"#).into()),
    ("application/yaml", |n, s| format!("env:\n- name: {n}\n  value: {s}\n").into()),
    ("application/x-www-form-urlencoded", |n, s| format!("name={n}&value={s}").into()),
    ("text/event-stream", |n, s| format!("event: change\ndata: {{\"field\":\"{n}\",\"value\":\"{s}\"}}\n\n").into()),
    // Pairs and lists.
    ("application/json", |n, s| format!(r#"[["user","ada"],["{n}","{s}"]]"#).into()),
    ("application/json", |n, s| format!(r#"{{"h":[["{n}",["{s}"]]]}}"#).into()),
    ("application/x-ndjson", |n, s| format!("[\"{n}\",\"{s}\"]\n[\"a\",1]\n").into()),
    // Tables.
    ("application/json", |n, s| format!(r#"{{"columns":["id","{n}"],"rows":[[1,"{s}"],[2,"x"]]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"columns":[{{"name":"id"}},{{"name":"{n}","kind":"text"}}],"rows":[[1,"{s}"]]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"schema":{{"fields":[{{"name":"id"}},{{"name":"{n}"}}]}},"rows":[{{"f":[{{"v":1}},{{"v":"{s}"}}]}}]}}"#).into()),
    ("application/json", |n, s| format!(r#"[["id","{n}"],[1,"{s}"],[2,"y"]]"#).into()),
    ("application/json", |n, s| format!(r#"{{"keys":["id","{n}","b"],"values":[1,"{s}",2]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"results":[{{"columns":["{n}"],"data":[{{"row":["{s}"]}}]}}]}}"#).into()),
    ("application/x-ndjson", |n, s| format!("[\"id\",\"{n}\"]\n[1,\"{s}\"]\n").into()),
    ("text/csv", |n, s| format!("# export of today\nuser,{n}\nada,{s}\n").into()),
    ("text/csv", |n, s| format!("id,{n},note\n1,\"{s}\",\"a\nb\"\n2,\"x, {s}\",c\n").into()),
    ("text/csv", |n, s| format!("key,value\n{n},{s}\n").into()),
    ("text/csv; header=present", |n, s| format!("sep=;\n\"id\";\"{n}\"\n1;{s}\n").into()),
    ("text/tab-separated-values", |n, s| format!("id\t{n}\tb\n1\t{s}\t2\n").into()),
    ("text/plain", |n, s| format!("id\t{n}\n1\t{s}\n").into()),
    ("text/plain", |n, s| format!("id,{n}\n1,{s}\n").into()),
    ("", |n, s| format!("id;{n};b\n1;{s};2\n").into()),
    ("application/json", |n, s| format!(r#"{{"file":"id,{n}\n1,{s}\n"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"file":"id\t{n}\n1\t{s}\n2\t{s}"}}"#).into()),
    ("text/markdown", |n, s| format!("# Users\n\n| id | {n} |\n|----|----|\n| 1 | {s} |\n\nbye\n").into()),
    ("application/json", |n, s| format!(r#"{{"md":"| id | {n} |\n| --- | --- |\n| 1 | {s} |"}}"#).into()),
    ("text/plain", |n, s| format!(" id | {n}\n----+------\n  1 | {s}\n(1 row)\n").into()),
    ("text/plain", |n, s| format!("ID  {n}  AGE\n1   {s}  3\n").into()),
    ("application/json", |n, s| format!(r#"{{"columns":["id","type","{n}"],"rows":[[1,"password","x"],[2,"totp","{s}"]]}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"a_columns":["id","password","n"],"a_rows":[[1,"x","n"]],"b_columns":["id","n","{n}"],"b_rows":[[1,"n","{s}"]]}}"#).into()),
    // GraphQL, whose variables have names of their own.
    ("application/json", |n, s| format!(r#"{{"query":"mutation($x:String){{login({}:$x){{id}}}}","variables":{{"x":"{s}"}}}}"#, identifier(n)).into()),
    ("application/json", |n, s| format!(r#"[{{"operationName":"L","variables":{{"x":["{s}"]}},"query":"mutation L($x:[String!]!){{login(in:{{a:{{{}:$x}}}}){{id}}}}"}}]"#, identifier(n)).into()),
    ("application/json", |n, s| format!(r#"{{"query":"mutation($x:String=\"{s}\"){{login({}:[$x]){{id}}}}","variables":"{{\"x\":\"{s}\"}}"}}"#, identifier(n)).into()),
    ("application/json", |n, s| format!(r#"{{"query":"mutation($x:String!){{login({}:$x){{id}}}}","variables":{{"x":"{s}"}},"fragments":"fragment F on U {{ id }}"}}"#, identifier(n)).into()),
    ("application/json", |n, s| format!(r#"{{"query":"mutation($x:String!){{login({}:$x){{id","variables":{{"x":"{s}"}},"fragments":"fragment F on U {{ id }}"}}"#, identifier(n)).into()),
    ("application/x-www-form-urlencoded", |n, s| format!("query={}&variables={}", percent(&format!("query($x:String){{me({}:$x){{id}}}}", identifier(n))), percent(&format!(r#"{{"x":"{s}"}}"#))).into()),
    ("application/graphql", |n, s| format!("mutation($x:String=\"{s}\"){{login({}:$x){{id}}}}", identifier(n)).into()),
    // Multipart names in all their spellings.
    ("multipart/form-data; boundary=x", |n, s| part(&format!("Content-Disposition: form-data; name*=UTF-8''{}", percent(n)), s)),
    ("multipart/form-data; boundary=x", |n, s| part(&format!("Content-Disposition: form-data; name=\"{}\"", percent(n)), s)),
    ("multipart/form-data; boundary=x", |n, s| part(&format!("Content-Disposition: form-data; name*0=\"{}\"; name*1=\"{}\"", n.chars().take(1).collect::<String>(), n.chars().skip(1).collect::<String>()), s)),
    ("multipart/form-data; boundary=x", |n, s| part(&format!("Content-Disposition: form-data; name=\"=?UTF-8?B?{}?=\"", base64(n)), s)),
    ("multipart/form-data; boundary=x", |n, s| part(&format!("Content-Disposition: form-data; name=\"=?utf-8?Q?{}?=\"", percent(n).replace('%', "=")), s)),
    // Markup with names before, after and around values.
    ("application/xml", |n, s| format!("<a><{}/>{s}</a>", element(n)).into()),
    ("application/xml", |n, s| format!("<a><{0}></{0}> {s} <b/></a>", element(n)).into()),
    ("application/xml", |n, s| format!("<a><field name='{n}'/>{s}</a>").into()),
    ("application/xml", |n, s| format!("<a><field name=\"{n}\">{s}</field></a>").into()),
    ("application/xml", |n, s| format!("<!DOCTYPE plist PUBLIC \"x\" \"y\"><plist><dict><key>{n}</key>\n<string>{s}</string></dict></plist>").into()),
    ("", |n, s| format!("<plist><dict><key>{n}</key><array><string>a</string><string>{s}</string></array></dict></plist>").into()),
    ("application/xml", |n, s| format!("<l><p><value>{s}</value><name>{n}</name></p></l>").into()),
    ("application/xml", |n, s| format!("<l><p><name>{n}</name><kind>text</kind><value>{s}</value></p></l>").into()),
    ("", |n, s| format!("<l><p><name>{n}</name><kind>text</kind><value>{s}</value></p></l>").into()),
    ("text/html", |n, s| format!("<p><b>{n}</b> {s}</p>").into()),
    ("application/json", |n, s| format!(r#"{{"xml":"<p><key>{n}</key><string>{s}</string></p>"}}"#).into()),
    // Labels, table headers, and remarks between a label and its value.
    ("application/xml", |n, s| format!("<a><b name=\"{n}\">{n}</b><c>{s}</c></a>").into()),
    ("application/xml", |n, s| format!("<a><b>{n}</b>, <c>{s}</c></a>").into()),
    ("application/xml", |n, s| format!("<e><fieldName>{n}</fieldName><fieldType>text</fieldType><fieldValue>{s}</fieldValue></e>").into()),
    ("application/xml", |n, s| format!("<e><fieldValue>{s}</fieldValue><fieldName>{n}</fieldName></e>").into()),
    ("application/xml", |n, s| format!("<e><f fieldName=\"{n}\" fieldValue=\"{s}\"/></e>").into()),
    ("application/fhir+xml", |n, s| format!("<l><parameter><name value=\"{n}\"/><valueString value=\"{s}\"/></parameter></l>").into()),
    ("text/html", |n, s| format!("<label for=\"{n}\">{n}</label> <span>{s}</span>").into()),
    ("text/html", |n, s| format!("<h3 id=\"{n}\">{n}</h3><pre>{s}</pre>").into()),
    ("text/html", |n, s| format!("<dl><dt id='{n}'>{n}</dt><dd>{s}</dd></dl>").into()),
    ("text/html", |n, s| format!("<table><tr><th>a</th><th data-field='{n}'>{n}</th></tr><tr><td>1</td><td>{s}</td></tr></table>").into()),
    ("text/html", |n, s| format!("<table><tr><td>a</td><td>{n}</td></tr><tr><td>1</td><td>{s}</td></tr></table>").into()),
    ("text/html", |n, s| format!("<table><thead><tr><td>{n}</td></tr></thead><tbody><tr><td>1</td></tr><tr><td>{s}</td></tr></tbody></table>").into()),
    ("text/html", |n, s| format!("<table><tr><th>a</th><th>{n}</th></tr><tr><td><table><tr><td>b</td></tr></table></td><td>{s}</td></tr></table>").into()),
    ("text/html", |n, s| format!("<table><tr><td>a</td><td>1</td></tr><tr><td>{n}</td><td>:</td><td>{s}</td></tr></table>").into()),
    ("text/html", |n, s| format!("<label>{n} <span>*</span></label><span>{s}</span>").into()),
    ("text/html", |n, s| format!("<p><b>{n}</b><b>:</b> {s}</p>").into()),
    ("text/html", |n, s| format!("<dl><dt>{n} <small>(now)</small></dt><dd>{s}</dd></dl>").into()),
    ("text/html", |n, s| format!("<dl><dt>{n}</dt><dd><a href=x>Show</a> {s}</dd></dl>").into()),
    // Tables of one column, with comments, and with old line endings.
    ("text/csv", |n, s| format!("{n}\n{s}\n").into()),
    ("text/csv", |n, s| format!("id,{n} (old)\n1,{s}\n").into()),
    ("text/csv", |n, s| format!("id,{n}\r1,{s}\r2,{s}\r").into()),
    ("text/csv", |n, s| format!("a,b\n1,2\n\n{n},user\n{s},ada\n").into()),
    ("application/json", |n, s| format!(r#"{{"columns":["id","{n} (old)"],"rows":[[1,"{s}"]]}}"#).into()),
    // Structures within strings.
    ("application/json", |n, s| format!(r#"{{"body":"name={n}&value={s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"body":"/x?name={n}&value={s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"manifest":"env:\n- name: {n}\n  value: {s}\n"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"body":"--x\r\nContent-Disposition: form-data; name=\"{n}\"\r\n\r\n{s}\r\n--x--"}}"#).into()),
    ("application/yaml", |n, s| format!("data:\n  app.yaml: |\n    env:\n    - name: {n}\n      value: {s}\n").into()),
    ("application/x-www-form-urlencoded", |n, s| format!("body={}", percent(&format!("name={n}&value={s}"))).into()),
    ("application/xml", |n, s| format!("<a><![CDATA[name={n}&value={s}]]></a>").into()),
    ("multipart/form-data; boundary=x", |n, s| format!("--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n{n}\r\n--x\r\nContent-Disposition: form-data; name=\"value\"\r\n\r\n{s}\r\n--x--\r\n").into()),
    // Paths, also in texts.
    ("application/json", |n, s| format!(r#"{{"l":"/{n}/{s}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"l":"https://x.example/a/{}/{s}/b"}}"#, segment(n)).into()),
    ("application/json", |n, s| format!(r#"{{"l":"see /login/{n},{s} for it"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"l":"/x/{}%2F{s}"}}"#, segment(n)).into()),
    ("application/json", |n, s| format!(r#"{{"l":"/x;{}={s}/y"}}"#, segment(n)).into()),
    ("text/plain", |n, s| format!("GET /x/{}/{s} 200\n", segment(n)).into()),
    ("text/html", |n, s| format!("<a href='/a/{}/{s}'>x</a>", segment(n)).into()),
    // Encoded once more.
    ("application/json", |n, s| format!(r#"{{"b":"{}"}}"#, base64(&base64(&format!("{{\"{n}\":\"{s}\"}}")))).into()),
    ("application/json", |n, s| format!(r#"{{"b":"x data:text/plain;base64,{} y"}}"#, base64(&format!("a=1&{n}={s}"))).into()),
    ("application/json", |n, s| format!(r#"{{"b":"data:application/json,{}"}}"#, percent(&format!("{{\"{n}\":\"{s}\"}}"))).into()),
    ("application/json", |n, s| format!(r#"{{"b":"{}"}}"#, crate::hex::encode(format!("{{\"{n}\":\"{s}\"}}").as_bytes())).into()),
    ("application/json", |n, s| format!(r#"{{"b":"{{&quot;{n}&quot;:&quot;{s}&quot;}}"}}"#).into()),
    ("application/json", |n, s| format!(r#"{{"b":"{}"}}"#, percent(&percent(&format!("{n}={s}")))).into()),
    ("application/json", |n, s| format!(r#"{{"b":"x {} y"}}"#, base64(&format!("<a><{0}>{s}</{0}></a>", element(n)))).into()),
    ("text/plain", |n, s| format!("INSERT INTO u (id, {n}) VALUES (1, '{s}'), (2, '{s}')").into()),
    ("text/plain", |n, s| format!("SET {n} '{s}' and {n}('{s}')").into()),
    ("text/plain", |n, s| format!("http_requests_total{{a=\"b\",{n}=\"{s}\"}} 3\n").into()),
    ("text/plain", |n, s| format!("your {n} is {s} now").into()),
];

/// Writes a body that holds a secret without a name.
type Nameless = fn(&str) -> Vec<u8>;

/// Values that are secret by their context.
#[rustfmt::skip]
pub(super) const NAMELESS: &[(&str, Nameless)] = &[
    ("application/json", |s| format!(r#"{{"what":"password","it":"{s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"field":"password","context":{{"min":8,"given":"{s}"}}}}"#).into()),
    ("application/json", |s| format!(r#"{{"rawHeaders":["Accept","*/*","Authorization","{s}","Host","a"]}}"#).into()),
    ("application/json", |s| format!(r#"{{"args":["login","--password","{s}"]}}"#).into()),
    ("application/json", |s| format!(r#"{{"kind":"Secret","data":{{"db":"{s}"}}}}"#).into()),
    ("application/json", |s| format!(r#"{{"headers":[{{"name":"Set-Cookie","value":"sid={s}"}},{{"name":"X-Api-Key","value":"{s}"}}]}}"#).into()),
    ("application/json", |s| format!(r#"{{"headers":{{"X-Auth":"{s}","Proxy-Authorization":["{s}"],"X-Amz-Security-Token":"{s}"}}}}"#).into()),
    ("application/json", |s| format!(r#"{{"operationName":"ChangePassword","variables":{{"x":"{s}"}}}}"#).into()),
    ("application/json", |s| format!(r#"{{"operationName":"Login","variables":{{"input":{{"a":"{s}"}}}},"extensions":{{"persistedQuery":{{"version":1}}}}}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"//ada:{s}@x.example/"}}"#).into()),
    ("application/json", |s| format!(r#"{{"dsn":"ada:{s}@tcp(db.example:3306)/x"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"connect to ada:{s}@db.example now"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"redis://:{s}@db.example:1/0"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"/cb#access_token={s}&state=1"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"https://x.example/magic-link/{s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"/users/reset-password/{s}?a=1"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"/v1/secrets/a/b/{s}"}}"#).into()),
    ("text/plain", |s| format!("open https://x.example/reset/{s}\n").into()),
    ("application/json", |s| format!(r#"{{"c":"curl -u ada:{s} https://x.example"}}"#).into()),
    ("application/json", |s| format!(r#"{{"c":"mysql -uroot -p{s} shop; sshpass -p {s} ssh ada@x.example"}}"#).into()),
    ("text/plain", |s| format!("x.example:5432:shop:ada:{s}\n").into()),
    ("application/json", |s| format!(r#"{{"c":"CREATE USER a IDENTIFIED BY '{s}'"}}"#).into()),
    ("application/json", |s| format!(r#"{{"h":"Cookie: a=1; sid={s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"h":"x Authorization: Basic {}"}}"#, base64(&format!("ada:{s}"))).into()),
    ("application/json", |s| format!(r#"{{"j":"jwt eyJhbGciOiJIUzI1NiJ9.{}.sig"}}"#, base64(&format!("{{\"x\":\"{s}\"}}")).trim_end_matches('=')).into()),
    ("application/json", |s| format!(r#"{{"eyJhbGciOiJIUzI1NiJ9.{}.sig":1}}"#, base64(&format!("{{\"x\":\"{s}\"}}")).trim_end_matches('=')).into()),
    ("application/json", |s| format!(r#"{{"z":"{}"}}"#, gzipped(&format!("password={s}"))).into()),
    ("application/json", |s| format!(r#"{{"a":{{"columns":["id","password"],"types":["int","text"]}},"rows":{{"p":[[1,"{s}"]]}}}}"#).into()),
    ("application/json", |s| format!(r#"{{"rows":[[1,"{s}"]],"columns":["id","password"]}}"#).into()),
    ("application/json", |s| format!(r#"{{"m":[{{"Field":"user_password","Message":"'{s}' is too short"}}]}}"#).into()),
    ("application/json", |s| format!(r#"{{"message":"Validation failed for field password: value '{s}' is too short"}}"#).into()),
    ("application/json", |s| format!(r#"{{"violations":[{{"propertyPath":"plainPassword","invalidValue":"{s}"}}]}}"#).into()),
    ("application/json", |s| format!(r#"[{{"op":"move","from":"/a","path":"/b","value":1}},{{"op":"replace","path":"/users/3/auth/token","value":{{"raw":"{s}"}}}}]"#).into()),
    ("application/json", |s| format!(r#"{{"$set":{{"password":"{s}"}},"auth.password":"{s}"}}"#).into()),
    ("application/json", |s| format!(r#"[{{"EventName":"MODIFY","NewImage":{{"password":{{"S":"{s}"}}}}}}]"#).into()),
    ("application/json", |s| format!(r#"{{"env":["A=1","DB_PASSWORD={s}"],"cmd":"export PGPASSWORD={s}; psql"}}"#).into()),
    ("application/json", |s| format!(r#"{{"q":"SELECT 1 WHERE password = '{s}' OR token LIKE '{s}'"}}"#).into()),
    ("application/json", |s| format!(r#"{{"m":"Your password: {s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"answer":[{{"question":"password","answer":"{s}"}}]}}"#).into()),
    ("application/json", |s| format!(r#"{{"fields":{{"fields":[{{"id":"pw","answer":{{"text":"{s}"}}}}]}}}}"#).into()),
    ("application/json", |s| format!(r#"{{"attributes":[{{"Name":"custom:password","Value":"{s}"}}]}}"#).into()),
    ("application/json", |s| format!(r#"{{"url":"https://x.example/?next=https%253A%252F%252Fy.example%252F%253Ftoken%253D{s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"https://x.example/cb?state=1#id_token={s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"https://{s}:x@x.example/?a=1"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"jdbc:postgresql://h/db?user=a&password={s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"Server=h;User Id=a;Password={s};"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"AccountName=a;AccountKey={s};EndpointSuffix=x"}}"#).into()),
    ("application/json", |s| format!(r#"{{"j":"[\"password\",\"{s}\"]"}}"#).into()),
    ("application/json", |s| format!(r#"{{"manifest":"kind: Secret\nstringData:\n  db: {s}\n"}}"#).into()),
    ("application/json", |s| format!(r#"{{"body":"event: password\nid: 1\ndata: {s}\n\n"}}"#).into()),
    ("application/json", |s| format!(r#"{{"body":"data: {{\"field\":\"password\",\ndata: \"value\":\"{s}\"}}\n\n"}}"#).into()),
    ("application/xml", |s| format!("<a><b>password</b><type>text</type><value>{s}</value></a>").into()),
    // A sentence before a value; only its colon tells so.
    ("text/html", |s| format!("<p>The password for your account is: <b>{s}</b></p>").into()),
    // Punctuation within a value.
    ("application/json", |s| format!(r#"{{"u":"https://x.example/?a=1&password=x'{s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"form":"a=1&password=x'{s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"form":"a=1&password'{s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"user=a&password=(4k){s}"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"https://ada:x'{s}@x.example/"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"https://ada:{s}'x@x.example/"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"https://ada:x,{s};x@x.example/"}}"#).into()),
    ("application/json", |s| format!(r#"{{"dsn":"ada:x,{s}@tcp(db.example:3306)/x"}}"#).into()),
    ("application/json", |s| format!(r#"{{"dsn":"ada:x'{s}@tcp(db.example:3306)/x"}}"#).into()),
    ("application/json", |s| format!(r#"{{"u":"/reset-password/ab'{s}"}}"#).into()),
    ("application/x-ndjson", |s| format!("{{\"time\":1,\"attrs\":[{{\"key\":\"password\",\"value\":{{\"stringValue\":\"{s}\"}}}}]}}\n{{\"a\":1}}\n").into()),
    ("text/plain", |s| format!("time=1 level=info msg=\"x\" password=\"{s}\" b=1\n").into()),
    ("text/plain", |s| format!("POST /login HTTP/1.1\nHost: a\nX-Api-Key: {s}\n\nuser=a&password={s}\n").into()),
    ("text/plain", |s| format!("HTTP/1.1 200 OK\nSet-Cookie: sid={s}; Path=/\n\n").into()),
    ("text/plain", |s| format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{s}\n-----END OPENSSH PRIVATE KEY-----\n").into()),
    ("text/plain", |s| format!("machine x login ada password {s}\n").into()),
    ("application/yaml", |s| format!("kind: Secret\nstringData:\n  db: {s}\n").into()),
    ("application/yaml", |s| format!("auths:\n  r.example:\n    auth: {s}\n").into()),
    ("application/xml", |s| format!("<r><row><column name='id'>1</column><column name='password'>{s}</column></row></r>").into()),
    ("application/xml", |s| format!("<m><member><name>password</name><value><string>{s}</string></value></member></m>").into()),
    ("text/event-stream", |s| format!("event: password\ndata: {s}\n\n").into()),
    ("application/grpc-web", |s| [&[0x80, 0, 0, 0, 22][..], b"x-token: ", s.as_bytes()].concat()),
    ("application/grpc-web-text", |s| base64(&format!("\u{0}\u{0}\u{0}\u{0}\u{d}{s}")).into()),
];

fn gzipped(text: &str) -> String {
    use ::base64::Engine;
    use std::io::Write;
    // Stored, not compressed, so that the secret can be searched for.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(text.as_bytes()).expect("memory");
    let bytes = encoder.finish().expect("memory");
    ::base64::engine::general_purpose::STANDARD.encode(bytes)
}
