//! Bodies that once let a secret out, each with its number. In each, `HUNTER2` must not be recorded, and `kept 3`, which
//! stands beside it, must stay readable: hiding everything is no mend.

use super::*;

/// A number, a media type, and a body with `HUNTER2` and `kept 3`.
type Find = (u16, &'static str, &'static str);

const HTML: &str = "text/html";
const JSON: &str = "application/json";
const XML: &str = "application/xml";
const TEXT: &str = "text/plain";

#[rustfmt::skip]
const FINDS: &[Find] = &[
    // HTML: a label names its control by an id, wherever the two stand.
    (101, HTML, "<label for=f1>Password</label><p>At least 8 letters</p><div><span>hint</span><input id=f1 value=HUNTER2></div><p>kept 3</p>"),
    (102, HTML, "<p>kept 3</p><input id='f1' value='HUNTER2'><label for='f1'>Password</label>"),
    (103, HTML, "<div><input ID=f1 VALUE=HUNTER2></div><p>kept 3</p><label FOR=f1><b>Password</b></label>"),
    (104, HTML, "<label for=f1>Password</label><p>some hint</p><textarea id=f1>HUNTER2</textarea><p>kept 3</p>"),
    (105, HTML, "<span id=l1>Password</span><p>hint</p><p>kept 3</p><input aria-labelledby='x l1' value=HUNTER2>"),
    // A label without an id is for the control within it, or next to it.
    (106, HTML, "<label>Password</label><p>At least 8 letters</p><div><input value=HUNTER2></div><p>kept 3</p>"),
    (107, HTML, "<p>kept 3</p><label><input value=HUNTER2> Password</label>"),
    (108, HTML, "<p>kept 3</p><input value=HUNTER2><label>Password</label>"),
    (109, HTML, "<label>Name</label><input value='kept 3'><label>Password</label><p>hint</p><input value=HUNTER2>"),
    (110, HTML, "<label>Password</label><input type=hidden name=page value='2'><input value=HUNTER2><p>kept 3</p>"),
    (111, HTML, "<DIV DATA-NAME=\"password\" DATA-VALUE=\"HUNTER2\">kept 3 with <b>x</b></DIV><p>kept 3</p>"),
    (112, HTML, "<INPUT NAME=password VALUE=HUNTER2><p>kept 3</p>"),
    // Tables whose column names are elsewhere.
    (113, HTML, "<table><tbody><tr><td>1</td><td>HUNTER2</td></tr></tbody><tfoot><tr><th>id</th><th>password</th></tr></tfoot></table><p>see below</p><p>kept 3</p>"),
    (114, HTML, "<table><tbody><tr><td>1</td><td>HUNTER2</td></tr></tbody><tfoot><tr><td>id</td><td>password</td></tr></tfoot></table><p>see below</p><p>kept 3</p>"),
    (115, HTML, "<table><thead><tr><th>id</th><th>password</th></tr></thead><tfoot><tr><td>1</td><td>HUNTER2</td></tr></tfoot></table><p>kept 3</p>"),
    (116, HTML, "<table><thead><tr><th>id</th><th>password</th></tr></thead></table><p>see below</p><p>kept 3</p><div><table><tbody><tr><td>1</td><td>HUNTER2</td></tr></tbody></table></div>"),
    (117, HTML, "<p>kept 3</p><div role=row><span role=columnheader>id</span><span role=columnheader>password</span></div><div role=row><span role=gridcell>1</span><span role=gridcell>HUNTER2</span></div>"),
    // JSON: names of columns and the rows are apart.
    (201, JSON, r#"{"meta":[{"name":"id"},{"name":"password"}],"data":[["kept 3","HUNTER2"]]}"#),
    (202, JSON, r#"{"resultSetMetaData":{"rowType":[{"name":"id"},{"name":"PASSWORD"}]},"data":[["kept 3","HUNTER2"]]}"#),
    (203, JSON, r#"{"structure":[{"name":"id"},{"name":"password"}],"rows":[["kept 3","HUNTER2"]]}"#),
    (204, JSON, r#"{"schema":{"properties":{"id":{},"password":{}}},"rows":[["kept 3","HUNTER2"]]}"#),
    (205, JSON, r#"{"properties":[{"name":"id"},{"name":"password"}],"rows":[["kept 3","HUNTER2"]]}"#),
    (206, JSON, r#"{"query":{"dimensions":["id","password"]},"rows":[["kept 3","HUNTER2"]]}"#),
    (207, JSON, r#"{"dimensionHeaders":[{"name":"city"},{"name":"password"}],"rows":[{"dimensionValues":[{"value":"kept 3"},{"value":"HUNTER2"}]}]}"#),
    (208, JSON, r#"{"columns":{"id":"int","password":"text"},"rows":[["kept 3","HUNTER2"]]}"#),
    (209, JSON, r#"{"a":{"b":{"c":{"columns":["id","password"]}}},"rows":[["kept 3","HUNTER2"]]}"#),
    (210, JSON, r#"{"result":{"meta":{"schema":{"fields":[{"name":"id"},{"name":"password"}]}},"page":{"rows":[{"f":[{"v":"kept 3"},{"v":"HUNTER2"}]}]}}}"#),
    (211, JSON, r#"{"ResultSet":{"Rows":[{"Data":[{"VarCharValue":"id"},{"VarCharValue":"password"}]},{"Data":[{"VarCharValue":"kept 3"},{"VarCharValue":"HUNTER2"}]}]}}"#),
    (212, JSON, r#"{"ResultSet":{"Rows":[{"Data":[{"VarCharValue":"kept 3"},{"VarCharValue":"HUNTER2"}]}],"ResultSetMetadata":{"ColumnInfo":[{"Name":"id"},{"Name":"password","Type":"varchar"}]}}}"#),
    (213, JSON, r#"{"columns":[{"title":"Id","dataIndex":"c1"},{"title":"Password","dataIndex":"c2"}],"dataSource":[{"c1":"kept 3","c2":"HUNTER2"}]}"#),
    (214, JSON, r#"{"fields":[{"id":"f1","label":"Town"},{"id":"f2","label":"Password"}],"answers":{"f1":"kept 3","f2":"HUNTER2"}}"#),
    (215, JSON, r#"{"setting":{"name":"password"},"value":"HUNTER2","note":"kept 3"}"#),
    (216, JSON, r#"{"definition":{"name":"password"},"value":"HUNTER2","note":"kept 3"}"#),
    (217, JSON, r#"{"a":[{"attr":{"key":"password","kind":"text"},"val":{"s":"HUNTER2"}},{"attr":{"key":"town"},"val":{"s":"kept 3"}}]}"#),
    (218, JSON, r#"{"cols":[{"id":"A","label":"id"},{"id":"B","label":"Password"}],"rows":[{"c":[{"v":"kept 3"},{"v":"HUNTER2"}]}]}"#),
    // XML: pairs of elements.
    (251, XML, "<r><c n=\"password\"/><c v=\"HUNTER2\"/><d>kept 3</d></r>"),
    (252, XML, "<r><c n=\"password\">HUNTER2</c><c n=\"town\">kept 3</c></r>"),
    (253, XML, "<r><c n=\"password\"/><v>HUNTER2</v><c n=\"town\"/><v>kept 3</v></r>"),
    (254, XML, "<r><p><c n=\"password\"/><t>text</t><v>HUNTER2</v></p><p><c n=\"town\"/><t>text</t><v>kept 3</v></p></r>"),
    (255, "", "<r><c n=\"password\"/><v>HUNTER2</v><c n=\"town\"/><v>kept 3</v></r>"),
    // Members that an object of this kind keeps secret.
    (301, JSON, r#"{"keys":[{"kty":"RSA","kid":"kept 3","n":"abc","e":"AQAB","d":"HUNTER2","p":"HUNTER2","q":"HUNTER2","dp":"HUNTER2","dq":"HUNTER2","qi":"HUNTER2"}]}"#),
    (302, JSON, r#"{"kty":"oct","k":"HUNTER2","alg":"HS256","use":"kept 3"}"#),
    (303, JSON, r#"{"outputs":{"db":{"sensitive":true,"type":"string","value":"HUNTER2"},"town":{"sensitive":false,"value":"kept 3"}}}"#),
    (304, JSON, r#"{"instances":[{"attributes":{"content":"HUNTER2","town":"kept 3"},"sensitive_attributes":[[{"type":"get_attr","value":"content"}]]}]}"#),
    (305, JSON, r#"{"values":{"content":"HUNTER2","town":"kept 3"},"sensitive_values":{"content":true}}"#),
    (306, JSON, r#"{"change":{"before":null,"after":{"content":["HUNTER2"],"town":"kept 3"},"after_sensitive":{"content":[true],"town":false}}}"#),
    (307, JSON, r#"{"variables":[{"key":"X","masked":true,"value":"HUNTER2"},{"key":"Y","masked":false,"value":"kept 3"}]}"#),
    // Names.
    (321, JSON, r#"{"psk":"HUNTER2","wpa_psk":"HUNTER2","PreSharedKey":"HUNTER2","pre-shared key":"HUNTER2","presharedkey":"HUNTER2","note":"kept 3"}"#),
    (322, JSON, r#"{"code_verifier":"HUNTER2","codeVerifier":"HUNTER2","code_challenge":"kept 3"}"#),
    (323, JSON, r#"{"seed_phrase":"HUNTER2","seedWords":"HUNTER2","walletSeed":"HUNTER2","mnemonic":"HUNTER2","recovery_seed":"HUNTER2","note":"kept 3"}"#),
    (324, JSON, r#"{"seed":"HUNTER2 abandon ability able","nonce":"HUNTER2","_wpnonce":"HUNTER2","paymentMethodNonce":"HUNTER2","x":"kept 3"}"#),
    (325, JSON, r#"{"totpSecret":"HUNTER2","otp":"HUNTER2","otpauth_url":"otpauth://totp/a?secret=HUNTER2&issuer=b","x":"kept 3"}"#),
    (326, JSON, r#"{"ConnectionString":"HUNTER2","conn_str":"HUNTER2","dsn":"host=h user=a password=HUNTER2","x":"kept 3"}"#),
    (327, JSON, r#"{"dsn":"jdbc:oracle:thin:scott/HUNTER2@//db.example:1521/x","x":"kept 3"}"#),
    (328, TEXT, "wpa_psk=HUNTER2 code_verifier=HUNTER2\nseed phrase: HUNTER2 abandon\nkept 3\n"),
    (329, "application/x-www-form-urlencoded", "grant_type=x&code_verifier=HUNTER2&note=kept 3"),
    // Paths in texts.
    (401, JSON, r#"{"a":"/token/./HUNTER2","b":"kept 3"}"#),
    (402, JSON, r#"{"a":"/token/%2e/HUNTER2","b":"/orders/./kept 3"}"#),
    (403, JSON, r#"{"a":"/token//HUNTER2","b":"//token/HUNTER2","c":"kept 3"}"#),
    (404, JSON, r#"{"a":"/token/x/../HUNTER2","b":"/orders/x/../kept 3"}"#),
    (405, JSON, r#"{"a":"/token/;v=1/HUNTER2","b":"/token/%20/HUNTER2","c":"/token/-/HUNTER2","d":"kept 3"}"#),
    (406, JSON, r#"{"a":"https://x.example/token//HUNTER2","b":"https://x.example/token/x/%2e%2e/HUNTER2","c":"https://x.example//orders//kept 3"}"#),
    (407, TEXT, "GET /token/./HUNTER2 200\nGET /token//HUNTER2 200\nGET /orders//7 200 kept 3\n"),
    (408, HTML, "<a href='/token/./HUNTER2'>x</a><a href='/token//HUNTER2'>x</a><p>kept 3</p>"),
    // Other formats.
    (501, JSON, r#"{"errors":[{"message":"kept 3","extensions":{"argumentName":"password","argumentValue":"HUNTER2"}}]}"#),
    (502, JSON, r#"{"errors":[{"message":"kept 3","extensions":{"exception":{"errors":[{"property":"smtpPassword","value":"HUNTER2"}]}}}]}"#),
    (503, JSON, r#"{"parameters":[{"name":"smtpPassword","in":"query","example":"HUNTER2"},{"name":"town","example":"kept 3"}]}"#),
    (504, JSON, r#"{"parameters":[{"name":"smtpPassword","examples":{"a":{"value":"HUNTER2"}}},{"name":"town","example":"kept 3"}]}"#),
    (505, TEXT, "NOTE='kept 3'\nDB_PASSWORD=HUNTER2\nexport API_TOKEN=\"HUNTER2\"\n"),
    (506, JSON, r#"{"setCookie":"theme=dark; sid=HUNTER2","raw":"Set-Cookie: a=HUNTER2; Path=/","note":"kept 3"}"#),
    (507, XML, "<s:A xmlns:s='u'><s:Attribute Name='urn:oid:2.5.4.35' FriendlyName='userPassword'><s:AttributeValue>HUNTER2</s:AttributeValue></s:Attribute><s:B>kept 3</s:B></s:A>"),
    (508, TEXT, "name: \"kept 3\"\npassword: \"HUNTER2\"\n"),
    (509, TEXT, "note: \"kept 3\"\ntoken {\n  value: \"HUNTER2\"\n}\n"),
    (510, TEXT, "note: \"kept 3\" token { value: \"HUNTER2\" } b: 1\n"),
    (511, TEXT, "[app]\nnote=kept 3\n[db]\npassword = HUNTER2\n"),
    (512, TEXT, "note=kept 3\ndb.password=HUNTER2\ndb.token: HUNTER2\n"),
    (513, TEXT, "note=kept 3\ndb.password=\\\n  HUNTER2\n"),
    (514, TEXT, "-- kept 3\nINSERT INTO `users` (`id`,`password`) VALUES (1,'HUNTER2');\nUPDATE u SET password='HUNTER2' WHERE id=1;\n"),
    (515, TEXT, "-- kept 3\nCOPY public.users (id, password, note) FROM stdin;\n1\tHUNTER2\tx\n2\tHUNTER2\ty\n\\.\n"),
    (516, TEXT, "-- kept 3\nCREATE TABLE `shop`.`users` (\n  id int,\n  password text\n);\nINSERT INTO `users` VALUES (1,'HUNTER2');\nINSERT INTO towns VALUES (1,'Rome');\n"),
    (517, TEXT, "echo kept 3\ncurl -u ada:HUNTER2 -H 'X-Api-Key: HUNTER2' -d 'password=HUNTER2' https://x.example/a\n"),
    (518, TEXT, "kept 3\ncurl --user=ada:HUNTER2 https://x.example\ncurl -uada:HUNTER2 https://x.example\n"),
    (519, TEXT, "kept 3\ncurl --data-raw '{\"password\":\"HUNTER2\"}' https://x.example\n"),
    (521, TEXT, "kept 3\na:1:{s:8:\"password\";s:7:\"HUNTER2\";}\n"),
    (522, TEXT, "kept 3\n{'password': 'HUNTER2'} User(password='HUNTER2')\n"),
    (523, TEXT, "kept 3\nUser{password=HUNTER2, name=x} {Password:HUNTER2 Name:x}\n"),
    (524, TEXT, "kept 3\n[\"password\"]=>\n  string(7) \"HUNTER2\"\n"),
    (525, TEXT, "kept 3\nArray\n(\n    [password] => HUNTER2\n)\n"),
    (526, TEXT, "# kept 3\nvariable \"password\" {\n  type = string\n  default = \"HUNTER2\"\n}\n"),
    (527, TEXT, "kept 3\ndn: cn=a\nuserPassword:: SFVOVEVSMg==HUNTER2\n"),
    (528, "application/x-www-form-urlencoded", "name[]=billing_password&value[]=HUNTER2&note=kept 3"),
    (529, JSON, r#"{"Parameter":{"Name":"/prod/x","Type":"SecureString","Value":"HUNTER2"},"note":"kept 3"}"#),
    (530, TEXT, "kept 3\n//registry.example/:_authToken=HUNTER2\n"),
    (531, XML, "<c><RSAKeyValue><Modulus>abc</Modulus><P>HUNTER2</P><D>HUNTER2</D></RSAKeyValue><n>kept 3</n></c>"),
    (532, JSON, r#"{"examples":[{"request":"password=HUNTER2"}],"x-amazon":{"credential":"HUNTER2"},"n":"kept 3"}"#),
    (533, JSON, r#"{"cookies":[{"name":"sid","value":"HUNTER2"}],"note":"kept 3"}"#),
    (534, JSON, r#"{"label":{"en":"Password","de":"Passwort"},"value":"HUNTER2","note":"kept 3"}"#),
    (535, JSON, r#"{"writeOnly":true,"example":"HUNTER2","note":"kept 3"}"#),
    (536, HTML, "<p>kept 3</p><p>Your new password is <b>HUNTER2</b></p><p>The password for bob was <i>HUNTER2</i></p>"),
    (537, JSON, r#"{"a":"/token/x/..%2FHUNTER2","b":"/orders/x/..%2Fkept 3"}"#),
    (539, XML, "<m><entry><string>password</string><string>HUNTER2</string></entry><n>kept 3</n></m>"),
    // Sentences.
    (601, TEXT, "kept 3: the password is HUNTER2"),
    (602, TEXT, "kept 3\nThe password for bob is: HUNTER2\n"),
    (603, TEXT, "kept 3\nThe password for the user bob is HUNTER2.\n"),
    (604, TEXT, "kept 3\nPassword of ada = HUNTER2\n"),
    (605, JSON, r#"{"m":"The password for bob is: HUNTER2","n":"kept 3"}"#),
    // Command lines, and what files of passwords hold.
    (611, TEXT, "# kept 3\n$ mysql -u root -pHUNTER2 shop\n"),
    (612, JSON, r#"{"m":"sshpass -p HUNTER2 ssh ada@host","n":"kept 3"}"#),
    (613, TEXT, "kept 3\nsshpass -p 'HUNTER2' scp -P 22 a b\n"),
    (614, TEXT, "kept 3\nroot:$6$saltsalt$HUNTER2bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu:19000:0:99999:7:::\n"),
    (615, JSON, r#"{"h":"$2b$12$HUNTER2z0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW","n":"kept 3"}"#),
    (616, JSON, r#"{"h":"$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$HUNTER2vJCsgt3ub+b4dWRWJTmaaJObG","n":"kept 3"}"#),
    (617, TEXT, "# kept 3\ndb.example:5432:shop:ada:HUNTER2\n*:*:*:ada:HUNTER2\n"),
    (619, TEXT, "kept 3\necho \"db:5432:shop:ada:HUNTER2\" >> ~/.pgpass\n"),
    (620, TEXT, "@@ -1 +1 @@ kept 3\n-  [::1]:5432:shop:ada@example.com:HUNTER2\n+db:5432:shop:ada:HUNTER2\n"),
    // Commands as lists of words.
    (631, JSON, r#"{"c":["mysqldump","-uroot","-pHUNTER2","db","kept 3"]}"#),
    (632, JSON, r#"{"c":["curl","-u","bob:HUNTER2","kept 3"],"d":["curl","--user=bob:HUNTER2"],"e":["curl","-ubob:HUNTER2"]}"#),
    (633, JSON, r#"{"c":["sshpass","-p","HUNTER2","ssh","kept 3"],"d":["sshpass","-p","HUNTER2"]}"#),
    (634, JSON, r#"{"c":["mysql","-pHUNTER2"],"n":"kept 3"}"#),
    (635, JSON, r#"{"c":["redis-cli","-a","HUNTER2"],"n":"kept 3"}"#),
    (636, JSON, r#"{"c":["htpasswd","-b","file","user","HUNTER2"],"d":["htpasswd","-nbB","-C","12","kept 3","HUNTER2"]}"#),
    (637, JSON, r#"["sudo","/usr/bin/mysql","-pHUNTER2 with blanks","kept 3"]"#),
    (638, JSON, r#"{"m":"run [\"sshpass\",\"-p\",\"HUNTER2\"] or [\"mysql\", \"-pHUNTER2\"]","n":"kept 3"}"#),
    (639, TEXT, "kept 3\nCMD [\"sshpass\", \"-p\", \"HUNTER2\", \"ssh\"]\nCMD [\"htpasswd\", \"-b\", \"f\", \"u\", \"HUNTER2\"]\n"),
    (640, JSON, r#"{"c":["sqlplus","-S","scott/HUNTER2@db"],"d":["smbclient","-U","bob%HUNTER2","kept 3"]}"#),
    (641, JSON, r#"{"c":["kubectl","create","secret","generic","kept 3","--from-literal=k=HUNTER2","--from-literal","k=HUNTER2"]}"#),
    (642, JSON, r#"{"c":["openssl","enc","-aes-256-cbc","-k","HUNTER2","-in","kept 3"]}"#),
    (643, TEXT, "kept 3\nhtpasswd -b file user HUNTER2\nhtpasswd -nb user 'HUNTER2 x'\n"),
    (644, TEXT, "kept 3\nsqlplus -S scott/HUNTER2@db\nsmbclient -U bob%HUNTER2 //h/s\nsmbclient --user='bob%HUNTER2 x'\n"),
    (645, TEXT, "kept 3\ncurl -U bob:HUNTER2 https://x.example\nopenssl enc -aes128 -k HUNTER2 -in a\n"),
    (646, TEXT, "kept 3\nkubectl create secret generic x --from-literal=k=HUNTER2 \\\n  --from-literal='k=HUNTER2 x'\n"),
    (681, TEXT, "kept 3\nzip -r -P HUNTER2 a.zip dir\nunzip -PHUNTER2 a.zip; zip -P 'HUNTER2 x' b.zip c\n"),
    (682, TEXT, "kept 3\necho HUNTER2 | docker login -u bob --password-stdin\nprintf '%s' \"HUNTER2\" | helm registry login h --password-stdin\ndocker login --password-stdin <<< HUNTER2\n"),
    (683, TEXT, "kept 3\nnet use \\\\files\\share HUNTER2 /user:bob\nnet use Z: \\\\files\\share HUNTER2\nC:\\Windows\\net.exe use \\\\h HUNTER2\n"),
    (684, TEXT, "# kept 3\nport 6379\nrequirepass HUNTER2\nmasterauth \"HUNTER2\"\nsave 900 1\n"),
    (685, TEXT, "kept 3\nvault kv put secret/app k=HUNTER2 other='HUNTER2 x' \"third=HUNTER2 y\"\nvault write -format=json auth/x k=HUNTER2\n"),
    (686, JSON, r#"{"c":["zip","-P","HUNTER2","a.zip"],"d":["vault","kv","put","kept 3","k=HUNTER2"],"e":["redis-cli","config","set","requirepass","HUNTER2"]}"#),
    (687, JSON, r#"{"c":["net","use","Z:","\\\\files\\share","HUNTER2","/user:bob"],"n":"kept 3"}"#),
    (688, TEXT, "kept 3\nredis-server --requirepass HUNTER2 --port 1\nredis-cli -a HUNTER2 config set requirepass HUNTER2\n"),
    (689, TEXT, "kept 3\nmysql zip -pHUNTER2\ncd net && mysql vault -pHUNTER2\n"),
    (931, TEXT, "kept 3\ndocker login -u bob -p HUNTER2 r.example\npodman login -pHUNTER2 r.example\n"),
    (932, TEXT, "kept 3\nvault login HUNTER2\nvault login -no-print HUNTER2\n"),
    (933, TEXT, "kept 3\nkeytool -list -storepass HUNTER2 -keypass 'HUNTER2 x'\nipmitool -H h -U a -P HUNTER2 power on\n"),
    (934, TEXT, "kept 3\ncurl --cert c.pem:HUNTER2 https://x.example\nhttp -a bob:HUNTER2 x.example\nhttps --auth=bob:HUNTER2 x.example\n"),
    (935, TEXT, "kept 3\necho HUNTER2 | sudo -S ls\n7z x -pHUNTER2 a.7z\n"),
    (936, JSON, r#"{"c":["docker","login","-p","HUNTER2"],"d":["vault","login","HUNTER2"],"e":["7z","x","-pHUNTER2","kept 3"]}"#),
    // What lets somebody into a network.
    (941, JSON, r#"{"q":"WIFI:S:kept 3;T:WPA;P:HUNTER2;;"}"#),
    (942, TEXT, "kept 3\nsnmp-server community HUNTER2 RO\n"),
    // Names, and values that names elsewhere say are secret.
    (951, JSON, r#"{"passw":"HUNTER2","smsCode":"HUNTER2","enrollment_key":"HUNTER2","wifi_key":"HUNTER2","cert_key":"HUNTER2","n":"kept 3"}"#),
    (952, JSON, r#"{"keystore":"HUNTER2","pem":"HUNTER2","community_string":"HUNTER2","saml_response":"HUNTER2","invitation_code":"HUNTER2","n":"kept 3"}"#),
    (953, JSON, r#"{"pepper":"HUNTER2","remember_me":"HUNTER2","product_key":"HUNTER2-AB3D-EF5G-HJ7K","n":"kept 3"}"#),
    (954, JSON, r#"{"type":"string","format":"password","example":"HUNTER2","n":"kept 3"}"#),
    (955, JSON, r#"[{"label":"Your password","answer":"HUNTER2"},{"question":"What is your PIN?","response":"HUNTER2"},{"n":"kept 3"}]"#),
    (956, TEXT, "kept 3\npassword (HUNTER2)\npassword → HUNTER2\n"),
    (957, JSON, r#"{"m":"Use aHUNTER2x to sign in","o":"Enter 'bHUNTER2y' to log in","n":"kept 3"}"#),
    (958, JSON, r#"{"sessions":{"HUNTER2x9y":{"user":"kept 3"}}}"#),
    // Questions that only one person can answer.
    (691, JSON, r#"{"question":"What was the name of your first pet?","answer":"HUNTER2","n":"kept 3"}"#),
    (692, JSON, r#"{"security_question":"first pet","answer":"HUNTER2","n":"kept 3"}"#),
    (693, JSON, r#"{"securityQuestions":[{"question":"First pet","answer":"HUNTER2"}],"n":"kept 3"}"#),
    (694, JSON, r#"{"secretQuestion":"first pet","secretAnswer":"HUNTER2","n":"kept 3"}"#),
    (695, JSON, r#"{"challengeQuestion":{"text":"first pet"},"answer":"HUNTER2","n":"kept 3"}"#),
    // Addresses of webhooks.
    (661, JSON, r#"{"u":"https://api.telegram.org/bot123:HUNTER2/sendMessage","v":"https://discord.com/api/webhooks/1/HUNTER2","n":"kept 3"}"#),
    (662, TEXT, "kept 3 https://x.webhook.office.com/webhookb2/1@2/IncomingWebhook/HUNTER2/3 and <https://hooks.slack.com/services/T/B/HUNTER2>"),
    (673, HTML, "<p>kept 3</p><https://hooks.slack.com/services/T/B/HUNTER2>"),
    (674, TEXT, "<b>kept 3</b> <https://hooks.slack.com/services/T/B/HUNTER2> <i>x</i>"),
    (675, HTML, "<p>kept 3 <https://hooks.slack.com/services/T/B/HUNTER2|hook></p>"),
    (676, JSON, r#"{"m":"<b>kept 3</b> <https://hooks.slack.com/services/T/B/HUNTER2>"}"#),
    (678, TEXT, "kept 3 <b> <https://hooks.slack.com/services/T/B/HUNTER2> <ada@example.org>"),
    (663, HTML, "<a href='https://HOOKS.slack.com/services/T/B/HUNTER2'>kept 3</a>"),
    // Pairs of tokens, keys in environments, values in calls.
    (664, JSON, r#"{"access":"HUNTER2f86d081884c7d659","refresh":"HUNTER2f86d081884c7d659","n":"kept 3"}"#),
    (665, TEXT, "NOTE='kept 3'\nSTRIPE_KEY=HUNTER2\nexport MAPS_V2_KEY='HUNTER2'\n"),
    (666, JSON, r#"{"Env":["STRIPE_KEY=HUNTER2","PATH=/bin"],"n":"kept 3"}"#),
    (667, TEXT, "User(name='kept 3', password=SecretStr('HUNTER2'))"),
    (668, TEXT, "kept 3\necho \"bob:HUNTER2\" | chpasswd\necho 'bob:HUNTER2'|sudo chpasswd -e\nchpasswd <<< bob:HUNTER2\n"),
    (669, JSON, r#"{"u":"postgres://u:a/HUNTER2@h/db","v":"amqp://u:a/b/HUNTER2@h:5672","n":"kept 3"}"#),
    (670, TEXT, "kept 3\nServer=h;UID=sa;PWD={HUNTER2;a};Database=x\n"),
    (671, TEXT, "kept 3\nroot:$y$j9T$F5Jx5fExrKuPp53xLKQ..1$HUNTER2X3vCsgt3ub.b4dWRWJTmaaJObGabcdefghijkl:1:2\n"),
    (672, TEXT, "kept 3\nuser:{SHA}HUNTER2LRZp5Gqk8uTq8rJkXw8M=\nbob:{SSHA}HUNTER2LRZp5Gqk8uTq8rJkXw8Mabcd\n"),
    (618, JSON, r#"{"m":"db.example:5432:shop:ada:HUNTER2","n":"kept 3"}"#),
    // Ids of sessions as keys.
    (959, JSON, r#"{"sessions":[{"HUNTER2x9y":"kept 3"}]}"#),
    (960, JSON, r#"{"a":{"sessions":[[{"HUNTER2x9y":{"user":"kept 3"}}]]}}"#),
    (621, JSON, r#"{"sessions":{"HUNTER2f86d081884c7d659":{"user":"kept 3"}}}"#),
    (622, JSON, r#"{"a":{"activeSessions":{"HUNTER2f86d081884c7d659":"kept 3"}}}"#),
];

/// The same for a value that only its place in a sentence tells from prose: `opensesame`.
#[rustfmt::skip]
const SENTENCES: &[Find] = &[
    (651, TEXT, "kept 3\nthe password is opensesame\n"),
    (652, TEXT, "kept 3\nThe password for bob is: opensesame\n"),
    (653, TEXT, "kept 3\npassword opensesame\n"),
    (654, TEXT, "kept 3\nlogin ada password opensesame\n"),
    (655, TEXT, "kept 3\nyour new password was opensesame.\n"),
    (656, JSON, r#"{"m":"the password is opensesame","n":"kept 3"}"#),
    (657, JSON, r#"{"m":"user ada, password opensesame","n":"kept 3"}"#),
    (658, TEXT, "kept 3\nlog in with password opensesame\n"),
    (659, TEXT, "kept 3\nthe password for bob is opensesame\n"),
    (660, TEXT, "kept 3\nthe passphrase is \u{201c}opensesame\u{201d}\n"),
];

/// Codes that a message tells somebody, and the digits of them.
const CODES: &[(&str, &str)] = &[
    ("Your code: 493817", "493817"),
    ("Your code is 4938. Do not share it.", "4938"),
    ("kept 3, the code is 493817", "493817"),
    ("code is 493817", "493817"),
    ("Your one-time code is: 493-817.", "493-817"),
    ("Your code: G-493817", "G-493817"),
    ("use code 7, not 8; my code was 49381722", "49381722"),
    ("493817 is your code", "493817"),
    (
        "kept 3: 4938 is your Example verification code. Do not share it",
        "4938",
    ),
    ("G-493817 is your Example verification code.", "G-493817"),
    ("493-817 is your one-time password", "493-817"),
    ("493 817 is your PIN", "493 817"),
    ("Use '493817' as your login code, not 17", "493817"),
    ("Hello. 493817 is the verification code", "493817"),
    ("Enter 493817 to log in", "493817"),
    ("use '493-817' to verify your account", "493-817"),
    ("TAN 493817", "493817"),
    ("Ihre mTAN: 493817", "493817"),
    ("Dein Code lautet 493817", "493817"),
    ("Votre code: 493817", "493817"),
    ("493817 ist dein Code", "493817"),
    ("493817 est votre code", "493817"),
];

/// Texts with words and signs of those, which stay as they are.
const ORDINARY: &[&str] = &[
    "error code: 100200",
    "Error Code: 1045. Access denied",
    "code: 493817",
    "exit code is 137",
    "the status code is 404",
    "Your zip code: 94105",
    "your postal code is 10115",
    "Your order code: 493817",
    "the code is 404",
    "the code is 493817.5",
    "the code is 10 lines long",
    "product code 493817",
    "94105 is your zip code",
    "493817 is your order code",
    "100200 is the error code",
    "404 is the code",
    "2026 is your year. The code is short",
    "12.4938 is your code",
    "v1.4938 is your code",
    "493817 is your number, no code",
    "at 12:30:45 is your code review",
    "see a:b:c:d:e at 12:30:45",
    "a:80:c:d:e and a:b:c:d:e",
    "ssh -p 2222 ada@host",
    "mysql -u root -p shop",
    "docker run -p 8080:80 mysql",
    "costs $6.00, or $5 and $1$2",
    "12:30:45:67:89",
    "main.rs:12:5:error:expected",
    "12 sessions of 3 users",
    r#"["mysql","-P","3306","-p","shop"]"#,
    r#"["docker","run","-p","8080:80","mysql"]"#,
    r#"["ssh","-p","2222","-a","host"]"#,
    r#"["curl","-u","bob","-k","https://x.example/a:b"]"#,
    r#"["htpasswd","-c","file","user","x"]"#,
    r#"["kubectl","create","configmap","x","--from-literal=color=red"]"#,
    r#"["openssl","req","-k","a","-key","b"]"#,
    r#"["mysql is a database","-production"]"#,
    "curl -U bob https://x.example/a%20b",
    "openssl enc -aes128 -kfile a.txt",
    "smbclient -U bob //host/share",
    "kubectl create configmap x --from-literal=color=red",
    "sqlplus and/or toad",
    "https://discord.com/api/users/1/channels",
    "https://core.telegram.org/bots/api",
    "see hooks.slack.com/services for help",
    "https://example.webhook.office.com/webhookb2",
    r#"{"access":"public","refresh":"daily"}"#,
    r#"{"access":"read-only-for-all"}"#,
    "PRIMARY_KEY=id",
    "SORT_KEY=created_at and CACHE_KEYS=3",
    "STRIPE_PUBLISHABLE_KEY=pk_1",
    "USER_KEY==x",
    "http://host:8080/a@b",
    "http://[::1]:80/a@b",
    "a:b chpasswd",
    "GET /commits/{SHA}/statuses/of/the/branch",
    "{SHA} is a scheme",
    "sqlplus / as sysdba",
    "zip -r a.zip dir -x P",
    "unzip a.zip -d P; ls -P x",
    "the zip code of 94105 -p x",
    "docker login --password-stdin",
    "cat file | docker login --password-stdin",
    "net use Z: \\\\files\\share /persistent:yes",
    "net use \\\\files\\share *",
    "net start service x",
    "requirepass\nkept",
    "vault kv get secret/app k=v",
    "vault kv put -mount=secret app @data.json",
    "color=red in the vault",
    r#"{"question":"What is a mirror?","answer":"A proxy that copies requests"}"#,
    r#"{"question":"How many routes?","answer":"5"}"#,
    "sqlplus scott @scripts/a.sql",
    "docker run -p 8080:80 login",
    "vault status; the vault login",
    "http -v x.example a:b",
    "curl --cert c.pem https://x.example",
    "echo done | sudo tee /x",
    "7z a -mx a.7z dir",
    "Enter 12 to log in, or use python3 to verify",
    "Use sha256sum to verify it",
    "Use Google to sign in",
    "a tan 493817",
    "Votre code postal: 75001",
    "password → Settings",
    "password (optional)",
    "the wifi: is slow",
    r#"{"product_key":"SKU-1001","pepper":"black","remember_me":true,"rememberMe":"yes"}"#,
    r#"{"format":"password","title":"Login"}"#,
    r#"{"question":"Is your order late?","response":"no"}"#,
    r#"{"label":"Your order","answer":"42"}"#,
    r#"{"sessions":{"AcmeCorp2024":3,"mobile":4}}"#,
];

/// Prose about secrets, which stays as it is.
const PROSE: &[&str] = &[
    "password is required",
    "The password is too short",
    "Password is required.",
    "password required",
    "password reset",
    "Password confirmation",
    "Your password was changed",
    "Your password has expired",
    "the password is not here",
    "the password is stored in the vault",
    "the password is invalid",
    "the password is wrong",
    "The password for this account is required",
    "The password for bob is missing",
    "Enter your password to continue",
    "Forgot your password?",
    "user and password required",
    "login with password failed",
    "The secret is out",
    "the password must be at least 8 letters",
    "the password is the name of your town",
    "invalid username or password",
    "password manager",
    "password and user do not match",
    "the otp is valid for ten minutes",
];

/// What claims to be XML and is none.
#[rustfmt::skip]
const ILL_FORMED: &[Find] = &[
    (701, XML, "<a><Note>HUNTER2</note></a>"),
    (702, XML, "<a><b>HUNTER2 &foo;</b></a>"),
    (703, XML, "<a><b>HUNTER2</a>"),
    (704, XML, "<a b='&foo;'>HUNTER2</a>"),
    (705, "", "<order><Note>HUNTER2</note></order>"),
    (706, "", "<order><note>HUNTER2</order>"),
    (707, "", "<order><note>HUNTER2 &foo;</note></order>"),
    (708, TEXT, "<order><note>HUNTER2</order>"),
    (709, JSON, r#"{"x":"<order><note>HUNTER2</order>"}"#),
    (710, "image/svg+xml", "<svg><g>HUNTER2</svg>"),
    (711, XML, "<?xml version='1.0'?><a>HUNTER2</A>"),
    (712, "", "<s:order xmlns:s='u'><note>HUNTER2</s:order>"),
];

/// The sound neighbours of those.
#[rustfmt::skip]
const WELL_FORMED: &[Find] = &[
    (701, XML, "<a><Note>kept 3</Note></a>"),
    (702, XML, "<a><b>kept 3 &amp; &lt; &#65; &apos;</b></a>"),
    (704, XML, "<!DOCTYPE a SYSTEM \"a.dtd\"><a b='&foo;'>kept 3</a>"),
    (705, "", "<order><Note>kept 3</Note></order>"),
    (706, HTML, "<div><p>kept 3</div>"),
    (707, "", "<div><p>kept 3 &nbsp; &foo;</div>"),
    (708, "", "<my-app><p>kept 3</my-app>"),
    (709, JSON, r#"{"x":"<unknown>","y":"<b>kept 3","z":"<ada@example.org>"}"#),
    (710, "application/xhtml+xml", "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" \"x.dtd\"><html><body>kept 3&nbsp;</body></html>"),
];

/// All that is recorded of an exchange in which one side has this body, and its body in the sample.
fn kept(media: &str, body: &str) -> (String, String) {
    let fields: &[(&str, &str)] = if media.is_empty() {
        &[]
    } else {
        &[("content-type", media)]
    };
    let other = body
        .replace("HUNTER2", "HUNTER3")
        .replace("opensesame", "opensesameB");
    let exchange = exchange(
        "/x",
        fields,
        body.as_bytes(),
        answer(fields, body.as_bytes()),
        answer(fields, other.as_bytes()),
    );
    let record = record(&plain(), &exchange);
    let text = serde_json::to_string(&record).expect("a record");
    (text, record.sample.expect("a sample").legacy.body)
}

fn wrong(finds: &[Find], secret: Option<&str>, shown: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, media, body) in finds {
        let (record, sample) = kept(media, body);
        if secret.is_some_and(|secret| record.contains(secret)) {
            wrong.push(format!("{number} leaks: {body}\n      {sample}"));
        }
        if shown && !sample.replace('+', " ").contains("kept 3") {
            wrong.push(format!("{number} hides too much: {body}\n      {sample}"));
        }
    }
    wrong
}

fn assert_right(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_was_found_to_leave_is_hidden_and_its_neighbour_is_not() {
    assert_right(&wrong(FINDS, Some("HUNTER"), true));
}

#[test]
fn what_was_found_to_leave_does_not_leave_as_an_attribute() {
    let redactor = plain();
    let sentences = SENTENCES.iter().chain(FINDS).map(|(_, _, body)| *body);
    let sentences = sentences.flat_map(|body| [body, body.trim()]);
    let all = sentences
        .map(|body| (body, "HUNTER"))
        .chain(CODES.iter().copied());
    let mut leaks = Vec::new();
    for (body, secret) in all {
        for value in super::attributes::counted(&redactor, body.as_bytes()) {
            if ["HUNTER", "opensesame", secret]
                .iter()
                .any(|secret| value.contains(secret))
            {
                leaks.push(format!("{body}: {value}"));
            }
        }
    }
    assert_right(&leaks);
}

#[test]
fn a_sentence_that_tells_a_secret_loses_only_that() {
    assert_right(&wrong(SENTENCES, Some("opensesame"), true));
}

#[test]
fn prose_about_secrets_stays() {
    let redactor = plain();
    let hidden: Vec<_> = PROSE
        .iter()
        .map(|text| (*text, redactor.string(text).into_owned()))
        .filter(|(text, shown)| text != shown)
        .collect();
    assert!(hidden.is_empty(), "{hidden:#?}");
}

#[test]
fn a_code_to_log_in_is_hidden_and_other_codes_are_not() {
    let redactor = plain();
    for (text, code) in CODES {
        let shown = redactor.string(text);
        assert!(!shown.contains(code), "{text}: {shown}");
        assert!(
            !text.contains("kept 3") || shown.contains("kept 3"),
            "{shown}"
        );
    }
    for text in ORDINARY {
        assert_eq!(redactor.string(text), *text);
    }
}

#[test]
fn keys_that_are_no_ids_of_sessions_stay() {
    for text in [
        r#"{"sessions":{"mobile":3,"2026-01-31":4}}"#,
        r#"{"orders":{"9f86d081884c7d659a2feaa0c55ad015":3}}"#,
        r#"{"sessions":[{"started":"2026-01-31"}]}"#,
    ] {
        assert_eq!(json_body(text), text);
    }
}

#[test]
fn what_claims_to_be_xml_and_is_none_is_not_stored_in_clear() {
    assert_right(&wrong(ILL_FORMED, Some("HUNTER"), false));
    assert_right(&wrong(WELL_FORMED, None, true));
}

/// The numbers name the cases in a report of what is hidden, so each is there once in its list.
#[test]
fn a_number_names_one_find() {
    let mut numbers: Vec<u16> = [FINDS, SENTENCES, ILL_FORMED]
        .concat()
        .iter()
        .map(|(number, ..)| *number)
        .collect();
    let all = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), all);
}

#[test]
fn numbers_under_names_that_are_secret_only_as_texts_stay() {
    for text in [
        r#"{"nonce":7,"seed":42}"#,
        r#"{"nonce":"0x1f","seed":"42"}"#,
        r#"{"seeded":"red","seedling":"oak","announce":"x"}"#,
        r#"{"kty":"RSA","n":"abc","e":"AQAB"}"#,
        r#"{"d":"red","k":"blue","p":"green"}"#,
        r#"{"sensitive":false,"value":"red"}"#,
    ] {
        assert_eq!(json_body(text), text);
    }
}

/// A rule that names keys by `*` puts a `*` in place of the secret name in the pattern of a group.
#[test]
fn a_key_below_a_secret_name_is_not_in_a_pattern_that_has_no_name() {
    let rule = RuleConfig::new("any", "/*/updated_at", "ignore");
    let masks = [mask(Part::Body, "/note"), rule];
    let redactor = redactor(&RedactConfig::default(), &masks);
    let fields = [("content-type", "application/json")];
    let body = |key: &str| {
        format!(r#"{{"password":{{"{key}":1}},"note":{{"{key}":1}},"kept":{{"key7":"{key}x"}}}}"#)
    };
    let sides = ["ZqKlm", "ZqPlm"].map(|key| answer(&fields, body(key).as_bytes()));
    let [legacy, candidate] = sides;
    let record = record(
        &redactor,
        &exchange("/users/1", &[], b"", legacy, candidate),
    );
    let patterns: Vec<&str> = record
        .findings
        .iter()
        .map(|finding| finding.pattern.as_str())
        .collect();
    assert!(patterns.contains(&"/*/key7"), "{patterns:?}");
    assert!(patterns.contains(&"/*/*"), "{patterns:?}");
    assert!(
        !patterns.iter().any(|pattern| pattern.contains("Zq")),
        "{patterns:?}"
    );
}
